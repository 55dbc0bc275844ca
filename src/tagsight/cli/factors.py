"""tagsight factors."""

from tagsight.cli.arguments import AsJson, Backbone, ModelFile, Page
from tagsight.cli.console import print_json, show_text
from tagsight.cli.model_choice import open_model
from tagsight.pictures.factor_page import render_factors
from tagsight.storage.files import write_atomically
from tagsight.storage.outputs import check_output_file, is_page


def run(model: ModelFile = None, output: Page = None, backbone: Backbone = None, json: AsJson = False) -> None:
    """List the tagged and discovered factors: how often each occurs, with which others, and example regions."""
    if output is not None:
        check_output_file(output, "a page of tagsight", is_page)
    loaded = open_model(model, backbone)
    factors = loaded.list_factors()
    if output is not None:
        write_atomically(output, render_factors(loaded.trained, factors).encode())
    if json:
        print_json([factor.to_json() for factor in factors])
    elif output is None:
        for factor in factors:
            correlated = ", ".join(f"{show_text(name)} {value:+.2f}" for name, value in factor.correlated)
            print(f"{factor.kind:9} {show_text(factor.name):20} {factor.share:6.1%} of regions   {correlated}")
