"""tagsight describe."""

from pathlib import Path
from typing import Annotated

import typer

from tagsight.cli.annotate import say
from tagsight.cli.arguments import AsJson, Backbone, ModelFile, Threshold
from tagsight.cli.chosen_photos import PhotoPredictor
from tagsight.cli.console import print_json
from tagsight.errors import InputError
from tagsight.predict.annotate import Box, describe_object
from tagsight.predict.model_file import load_model


def run(
    model: ModelFile,
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="A photo.")],
    object: Annotated[str, typer.Option("--object", help="Which object to describe.")],
    box: Annotated[str | None, typer.Option(metavar="X0,Y0,X1,Y1", help="Where to look for it.")] = None,
    attributes: Annotated[int, typer.Option(min=0, help="Attributes, at most.")] = 5,
    threshold: Threshold = 0.0,
    backbone: Backbone = None,
    json: AsJson = False,
) -> None:
    """Describe one object of a photo by its attributes."""
    trained = load_model(model, backbone=backbone)
    place = None if box is None else parse_box(box)
    viewer = PhotoPredictor(trained)
    for path, photo, posterior in viewer.predict([image]):
        found = describe_object(
            trained, photo, posterior, object, box=place, n_attributes=attributes, threshold=threshold
        )
        if json:
            print_json({"image": str(path), "objects": [found.to_json()]})
        else:
            print(say(found))
    if viewer.n_failed:
        raise typer.Exit(1)


def parse_box(text: str) -> Box:
    """Four whole numbers."""
    try:
        x0, y0, x1, y1 = (int(part) for part in text.split(","))
    except ValueError as problem:
        raise InputError(f"box must be X0,Y0,X1,Y1 in whole pixels, got {text!r}") from problem
    return x0, y0, x1, y1
