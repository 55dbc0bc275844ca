"""tagsight annotate."""

from typing import Annotated

import typer

from tagsight.api import load
from tagsight.cli.arguments import AsJson, Backbone, Images, ModelFile, Threshold
from tagsight.cli.console import format_object, print_json, show_text
from tagsight.predict.annotate import N_ATTRIBUTES, N_OBJECTS


def run(
    model: ModelFile,
    images: Images,
    objects: Annotated[int, typer.Option(min=1, help="Maximum number of objects per photo.")] = N_OBJECTS,
    attributes: Annotated[int, typer.Option(min=0, help="Maximum number of attributes per object.")] = N_ATTRIBUTES,
    threshold: Threshold = 0.0,
    backbone: Backbone = None,
    json: AsJson = False,
) -> None:
    """Name the objects of photos, each with its attributes and scores."""
    failed = False
    loaded = load(model, backbone=backbone)
    for photo in loaded.annotate(images, objects=objects, attributes=attributes, threshold=threshold, progress=False):
        if photo.error is not None:
            failed |= photo.path in images
        elif json:
            print_json({"image": str(photo.path), "objects": [one.to_json() for one in photo.objects]})
        else:
            print(show_text(str(photo.path)), *(f"  {format_object(one)}" for one in photo.objects), sep="\n")
    if failed:
        raise typer.Exit(1)
