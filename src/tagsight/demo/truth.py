"""What a rendered collection really shows, kept apart from what training may read.

``truth/truth.json`` lists every photo with its objects; ``truth/classes`` and ``truth/instances`` hold a palette
PNG a photo, of the size of the photo: 0 is background, a class is its place in ``objects`` from 1, an instance
its place in the photo's list from 1.
"""

import json
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from PIL import Image

from tagsight.pictures.palette import make_voc_palette
from tagsight.types import Array

FOLDER = "truth"
Split = Literal["train", "test"]


class Instance(NamedTuple):
    """One object of a photo, as far as it is visible."""

    object: str
    attributes: tuple[str, ...]  # the hidden one too
    box: tuple[int, int, int, int]  # x0, y0, x1, y1; x1 and y1 lie just outside
    area: int  # pixels


class PhotoTruth(NamedTuple):
    """One photo and what is in it."""

    image: str  # relative to the collection: "train/0007.jpg"
    split: Split
    place: str
    instances: tuple[Instance, ...]

    @property
    def stem(self) -> str:
        """The name of its masks."""
        return Path(self.image).stem


class Truth(NamedTuple):
    """The truth of a collection."""

    objects: tuple[str, ...]
    attributes: tuple[str, ...]
    hidden: str  # the attribute that no tag names
    photos: tuple[PhotoTruth, ...]


def write_truth(folder: Path, truth: Truth) -> None:
    """Write ``truth/truth.json`` into a collection's folder."""
    photos = [
        {**photo._asdict(), "instances": [instance._asdict() for instance in photo.instances]} for photo in truth.photos
    ]
    content = json.dumps({**truth._asdict(), "photos": photos}, indent=1)
    (folder / FOLDER / "truth.json").write_text(content + "\n", encoding="utf-8")


def read_truth(folder: Path | str) -> Truth:
    """Read back what `write_truth` wrote."""
    content = json.loads((Path(folder) / FOLDER / "truth.json").read_text(encoding="utf-8"))
    photos = tuple(
        PhotoTruth(
            photo["image"],
            photo["split"],
            photo["place"],
            tuple(
                Instance(found["object"], tuple(found["attributes"]), tuple(found["box"]), found["area"])
                for found in photo["instances"]
            ),
        )
        for photo in content["photos"]
    )
    return Truth(tuple(content["objects"]), tuple(content["attributes"]), content["hidden"], photos)


def write_masks(folder: Path, stem: str, classes: Array, instances: Array) -> None:
    """Write a photo's two masks (h, w) of small whole numbers."""
    for kind, mask in (("classes", classes), ("instances", instances)):
        image = Image.fromarray(mask.astype(np.uint8))
        image.putpalette(make_voc_palette().tobytes())
        image.save(_place_mask(folder, kind, stem))


def read_classes(folder: Path | str, photo: PhotoTruth) -> Array:
    """(h, w) uint8: 0 where there is no object, else the object's place in the truth's list from 1."""
    return np.array(Image.open(_place_mask(Path(folder), "classes", photo.stem)))


def read_instances(folder: Path | str, photo: PhotoTruth) -> Array:
    """(h, w) uint8: 0 where there is no object, else its place in the photo's list from 1."""
    return np.array(Image.open(_place_mask(Path(folder), "instances", photo.stem)))


def _place_mask(folder: Path, kind: str, stem: str) -> Path:
    return folder / FOLDER / kind / f"{stem}.png"
