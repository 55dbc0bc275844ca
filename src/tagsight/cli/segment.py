"""tagsight segment."""

from pathlib import Path
from typing import Annotated

import typer

from tagsight.cli.arguments import Backbone, Images, ModelFile
from tagsight.cli.chosen_photos import PhotoPredictor, choose_photos, name_outputs
from tagsight.cli.console import show_text
from tagsight.data.photo import read_photo
from tagsight.errors import InputError
from tagsight.pictures.overlay import draw_overlay
from tagsight.pictures.palette import LARGEST, encode_palette
from tagsight.predict.model_file import load_model
from tagsight.predict.segment import refine_objects, segment_objects
from tagsight.storage.outputs import SharedFolder


def run(
    model: ModelFile,
    images: Images,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the masks.")],
    overlay: Annotated[bool, typer.Option(help="Also write NAME.overlay.jpg with a legend.")] = False,
    threshold: Annotated[float, typer.Option(min=0.0, max=1.0, help="Less probable is background.")] = 0.0,
    refine: Annotated[bool, typer.Option("--refine", help="Draw edges to those of the photo by a dense CRF.")] = False,
    backbone: Backbone = None,
) -> None:
    """Outline the objects of photos: DIR/NAME.png, 0 background, 1.. objects in the model's order.

    Masks of a folder's photos keep their place under it: DIR/SUBFOLDER/NAME.png. Where two photos would share a name,
    both masks have the photo's full name: DIR/NAME.jpg.png. Masks of an earlier run are replaced, other files never.
    """
    trained = load_model(model, backbone=backbone)
    names = trained.vocabulary.objects
    if len(names) > LARGEST:
        raise InputError(f"a palette PNG holds {LARGEST} objects and the model has {len(names)}")
    outputs = name_outputs(choose_photos(images))
    masks = {photo.path: f"{name.as_posix()}.png" for photo, name in outputs.items()}
    overlays = {path: f"{mask.removesuffix('.png')}.overlay.jpg" for path, mask in masks.items()} if overlay else {}
    folder = SharedFolder(output, masks)
    folder.check([*masks.values(), *overlays.values()])
    viewer = PhotoPredictor(trained)
    for path, photo, posterior in viewer.predict_chosen(outputs):
        if refine:
            mask = refine_objects(photo, posterior, read_photo(path).pixels, threshold=threshold)
        else:
            mask = segment_objects(photo, posterior, threshold=threshold)
        place = folder.write(masks[path], encode_palette(mask))
        if overlay:
            folder.write(overlays[path], draw_overlay(path, mask, names))
        print(show_text(str(place)))
    if viewer.n_failed:
        raise typer.Exit(1)
