"""tagsight segment."""

from pathlib import Path
from typing import Annotated

import typer

from tagsight.cli.arguments import Images, ModelFile
from tagsight.cli.console import list_problems
from tagsight.cli.photos import Viewer
from tagsight.data.collection import Problem
from tagsight.data.photo import read_photo
from tagsight.errors import InputError
from tagsight.files import write_atomically
from tagsight.pictures.overlay import draw_overlay
from tagsight.pictures.palette import LARGEST, encode_palette
from tagsight.storage.model_file import load_model
from tagsight.tasks.segment import refine_objects, segment_objects


def run(
    model: ModelFile,
    images: Images,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the masks.")],
    overlay: Annotated[bool, typer.Option(help="Also write NAME.overlay.jpg with a legend.")] = False,
    threshold: Annotated[float, typer.Option(min=0.0, max=1.0, help="Less probable is background.")] = 0.0,
    refine: Annotated[bool, typer.Option("--refine", help="Draw edges to those of the photo by a dense CRF.")] = False,
) -> None:
    """Outline the objects of photos: DIR/NAME.png, 0 background, 1.. objects in the model's order."""
    trained = load_model(model)
    names = trained.vocabulary.objects
    if len(names) > LARGEST:
        raise InputError(f"a palette PNG holds {LARGEST} objects and the model has {len(names)}")
    viewer = Viewer(trained)
    written: dict[str, Path] = {}
    for path, photo, posterior in viewer.look(images):
        if path.stem in written:
            list_problems([Problem(path, f"{path.stem}.png is already the mask of {str(written[path.stem])!r}")])
            continue
        written[path.stem] = path
        if refine:
            mask = refine_objects(photo, posterior, read_photo(path).pixels, threshold=threshold)
        else:
            mask = segment_objects(photo, posterior, threshold=threshold)
        write_atomically(output / f"{path.stem}.png", encode_palette(mask))
        if overlay:
            write_atomically(output / f"{path.stem}.overlay.jpg", draw_overlay(path, mask, names))
        print(output / f"{path.stem}.png")
    if viewer.n_failed:
        raise typer.Exit(1)
