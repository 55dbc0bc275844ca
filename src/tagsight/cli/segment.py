"""tagsight segment."""

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from tagsight.cli.arguments import Backbone, MaskThreshold, ModelAndImages
from tagsight.cli.console import list_problems, show_text
from tagsight.cli.model_choice import open_model, split_photos
from tagsight.data.collection import Problem
from tagsight.data.listing import ChosenPhoto, choose_photos
from tagsight.errors import UnreadablePhotoError
from tagsight.storage.outputs import SharedFolder


def run(
    paths: ModelAndImages,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the masks.")],
    overlay: Annotated[bool, typer.Option(help="Also write NAME.overlay.jpg, the photo with outlines.")] = False,
    threshold: MaskThreshold = 0.0,
    refine: Annotated[
        bool, typer.Option("--refine", help="Move outlines to the edges of the photo with a dense CRF.")
    ] = False,
    backbone: Backbone = None,
) -> None:
    """Outline the objects of photos and write a mask of each photo.

    The mask DIR/NAME.png has the size of the photo. Its values are 0 for background and 1, 2, ... for the objects, in
    the order of 'tagsight factors'. Masks of a folder's photos keep their place under it: DIR/SUBFOLDER/NAME.png. Where
    two photos would share a name, both masks have the photo's full name: DIR/NAME.jpg.png. Masks of an earlier run are
    replaced, other files are not.
    """
    model, images = split_photos(paths)
    loaded = open_model(model, backbone)
    chosen = choose_photos(images)
    list_problems(chosen.problems)
    masks = {photo: f"{name.as_posix()}.png" for photo, name in name_outputs(chosen.photos).items()}
    overlays = {photo: f"{mask.removesuffix('.png')}.overlay.jpg" for photo, mask in masks.items() if overlay}
    folder = SharedFolder(output, (photo.path for photo in masks))
    folder.check([*masks.values(), *overlays.values()])
    failed = False
    for photo, mask in masks.items():
        try:
            outline = loaded.segment(photo.path, threshold=threshold, refine=refine)
        except UnreadablePhotoError as error:
            list_problems([Problem(photo.path, error.reason)])
            failed |= photo.folder is None
            continue
        written = folder.write(mask, outline.encode_mask())
        if overlay:
            folder.write(overlays[photo], outline.encode_overlay())
        print(show_text(str(written)))
    if failed:
        raise typer.Exit(1)


def name_outputs(photos: Iterable[ChosenPhoto]) -> dict[ChosenPhoto, Path]:
    """The name of the output of each photo, without suffix, relative to the output folder.

    A photo of a given folder is named by its path in that folder (`sub/x`), a photo given by its path by its file name
    (`x`). Photos whose names would be equal keep their suffix (`x.jpg`). If the names are still equal, each is the path
    from the deepest folder of all photos (`a/x.jpg`). A photo that was given twice has one output. Names that differ in
    case only are equal, since some file systems do not distinguish them.
    """
    unique: dict[str, ChosenPhoto] = {}
    for photo in photos:
        unique.setdefault(os.path.abspath(photo.path), photo)
    root = os.path.commonpath(map(os.path.dirname, unique)) if unique else ""
    forms = {photo: _list_forms(photo, root) for photo in unique.values()}
    names = {photo: options.pop(0) for photo, options in forms.items()}
    while True:
        sharing: dict[str, list[ChosenPhoto]] = defaultdict(list)
        for photo, name in names.items():
            sharing[str(name).casefold()].append(photo)
        renamed = [photo for same in sharing.values() if len(same) > 1 for photo in same if forms[photo]]
        if not renamed:
            return names
        names |= {photo: forms[photo].pop(0) for photo in renamed}


def _list_forms(photo: ChosenPhoto, root: str) -> list[Path]:
    """The possible names of the output of a photo, most preferred first."""
    place = Path(photo.path.name) if photo.folder is None else photo.path.relative_to(photo.folder)
    return [place.with_suffix(""), place, Path(os.path.relpath(photo.path, root))]
