"""tagsight factors."""

from pathlib import Path
from typing import Annotated

import typer

from tagsight.cli.arguments import AsJson, Backbone, ModelFile
from tagsight.cli.console import print_json, show_text
from tagsight.pictures.factor_page import render_factors
from tagsight.predict.factors import list_factors
from tagsight.predict.model_file import load_model
from tagsight.storage.files import write_atomically
from tagsight.storage.outputs import check_output_file, is_page


def run(
    model: ModelFile,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="PAGE", help="HTML page.")] = None,
    backbone: Backbone = None,
    json: AsJson = False,
) -> None:
    """Show every tagged and discovered factor: how often it is on, what it goes with, its clearest regions."""
    if output is not None:
        check_output_file(output, "a page of tagsight", is_page)
    trained = load_model(model, backbone=backbone)
    factors = list_factors(trained)
    if output is not None:
        write_atomically(output, render_factors(trained, factors).encode())
    if json:
        print_json([factor.to_json() for factor in factors])
    elif output is None:
        for factor in factors:
            companions = ", ".join(f"{show_text(name)} {value:+.2f}" for name, value in factor.goes_with)
            print(f"{factor.kind:9} {show_text(factor.name):20} {factor.share:6.1%} of regions   {companions}")
