"""tagsight annotate."""

from typing import Annotated

import typer

from tagsight.cli.arguments import AsJson, Backbone, Images, ModelFile, Threshold
from tagsight.cli.chosen_photos import PhotoPredictor
from tagsight.cli.console import print_json, show_text
from tagsight.predict.annotate import FoundObject, annotate_photo
from tagsight.predict.model_file import load_model


def run(
    model: ModelFile,
    images: Images,
    objects: Annotated[int, typer.Option(min=1, help="Objects a photo, at most.")] = 2,
    attributes: Annotated[int, typer.Option(min=0, help="Attributes an object, at most.")] = 5,
    threshold: Threshold = 0.0,
    backbone: Backbone = None,
    json: AsJson = False,
) -> None:
    """Name the objects of photos, each with its own attributes and scores."""
    trained = load_model(model, backbone=backbone)
    viewer = PhotoPredictor(trained)
    for path, photo, posterior in viewer.predict(images):
        found = annotate_photo(
            trained, photo, posterior, n_objects=objects, n_attributes=attributes, threshold=threshold
        )
        if json:
            print_json({"image": str(path), "objects": [one.to_json() for one in found]})
        else:
            print(f"{show_text(str(path))}\n" + "\n".join(f"  {say(one)}" for one in found))
    if viewer.n_failed:
        raise typer.Exit(1)


def say(found: FoundObject) -> str:
    """horse 0.93: furry 0.88, brown 0.71."""
    attributes = ", ".join(f"{show_text(attribute.name)} {attribute.score:.2f}" for attribute in found.attributes)
    return f"{show_text(found.name)} {found.score:.2f}" + (f": {attributes}" if attributes else "")
