"""tagsight annotate."""

from typing import Annotated

import typer

from tagsight.cli.arguments import AsJson, Backbone, ModelAndImages, Threshold
from tagsight.cli.console import format_object, print_json, show_text
from tagsight.cli.model_choice import open_model, split_photos
from tagsight.predict.annotate import N_ATTRIBUTES, N_OBJECTS


def run(
    paths: ModelAndImages,
    objects: Annotated[int, typer.Option(min=1, help="Maximum number of objects per photo.")] = N_OBJECTS,
    attributes: Annotated[int, typer.Option(min=0, help="Maximum number of attributes per object.")] = N_ATTRIBUTES,
    threshold: Threshold = 0.0,
    backbone: Backbone = None,
    json: AsJson = False,
) -> None:
    """Name the objects of photos, each with its attributes and scores."""
    failed = False
    model, images = split_photos(paths)
    loaded = open_model(model, backbone)
    for photo in loaded.annotate(images, objects=objects, attributes=attributes, threshold=threshold, progress=False):
        if photo.error is not None:
            failed |= photo.path in images
        elif json:
            print_json({"image": str(photo.path), "objects": [one.to_json() for one in photo.objects]})
        else:
            print(show_text(str(photo.path)), *(f"  {format_object(one)}" for one in photo.objects), sep="\n")
    if failed:
        raise typer.Exit(1)
