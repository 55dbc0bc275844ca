"""tagsight describe."""

from pathlib import Path
from typing import Annotated

import typer

from tagsight.cli.arguments import MODEL_HELP, AsJson, Backbone, Threshold
from tagsight.cli.console import format_object, print_json
from tagsight.cli.model_choice import open_model, split_one
from tagsight.errors import InputError
from tagsight.predict.annotate import N_ATTRIBUTES, Box


def run(
    paths: Annotated[list[Path], typer.Argument(metavar="[MODEL] IMAGE", help=f"A photo. MODEL: {MODEL_HELP}")],
    object: Annotated[str, typer.Option("--object", help="Name of the object to describe.")],
    box: Annotated[
        str | None,
        typer.Option(metavar="X0,Y0,X1,Y1", help="Part of the photo to search.", show_default="the whole photo"),
    ] = None,
    attributes: Annotated[int, typer.Option(min=0, help="Maximum number of attributes.")] = N_ATTRIBUTES,
    threshold: Threshold = 0.0,
    backbone: Backbone = None,
    json: AsJson = False,
) -> None:
    """Describe one object of a photo by its attributes."""
    part = None if box is None else parse_box(box)
    model, (image,) = split_one(paths, "photo")
    loaded = open_model(model, backbone)
    found = loaded.describe(image, object, box=part, attributes=attributes, threshold=threshold)
    if json:
        print_json({"image": str(image), "objects": [found.to_json()]})
    else:
        print(format_object(found))


def parse_box(text: str) -> Box:
    """The four numbers of a box."""
    try:
        x0, y0, x1, y1 = (int(part) for part in text.split(","))
    except ValueError as problem:
        raise InputError(f"box must be X0,Y0,X1,Y1 in whole pixels, got {text!r}") from problem
    return x0, y0, x1, y1
