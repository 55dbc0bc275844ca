"""tagsight index."""

from pathlib import Path
from typing import Annotated

import typer

from tagsight.api import IndexOptions
from tagsight.cli.arguments import MODEL_HELP, AsJson, Backbone
from tagsight.cli.console import print_json, show_text
from tagsight.cli.model_choice import open_model, split_one
from tagsight.cli.options import Address, Engine, Format, PhotoFolder, Split, Workers

DEFAULTS = IndexOptions()


def run(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="[MODEL] COLLECTION", help=f"Folder of photos, tagged or not. MODEL: {MODEL_HELP}"),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="INDEX", help="Folder of the index.")],
    engine: Engine = DEFAULTS.engine,
    address: Address = DEFAULTS.address,
    workers: Workers = DEFAULTS.n_workers,
    format: Format = None,
    split: Split = None,
    images: PhotoFolder = None,
    backbone: Backbone = None,
    json: AsJson = False,
) -> None:
    """Annotate every photo once for 'tagsight find'; later runs annotate only new and changed photos."""
    model, (collection,) = split_one(paths, "collection")
    built = open_model(model, backbone).update_index(
        collection,
        output,
        format=format,
        split=split,
        images=images,
        engine=engine,
        address=address,
        n_workers=workers,
    )
    left_out = len(built.problems)
    if json:
        counts = {"added": built.added, "changed": built.changed, "removed": built.removed, "left_out": left_out}
        print_json({"index": str(output), "photos": built.n_photos, **counts})
        return
    changes = f"{built.added} added, {built.changed} changed, {built.removed} removed, {left_out} left out"
    print(f"{show_text(str(output))}: {built.n_photos} photos ({changes})")
