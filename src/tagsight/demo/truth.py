"""The ground truth of a rendered collection, in a folder of its own that training does not read.

`truth/truth.json` lists every photo with its objects. `truth/classes` and `truth/instances` hold one palette PNG per
photo, of the size of the photo: 0 is background; a class is its position in `objects`, from 1; an instance is its
position in the photo's list, from 1.
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
    """One object of a photo; box and area are those of its visible part."""

    object: str
    attributes: tuple[str, ...]  # including the hidden one
    box: tuple[int, int, int, int]  # x0, y0, x1, y1; x1 and y1 are exclusive
    area: int  # pixels


class PhotoTruth(NamedTuple):
    """One photo and its objects."""

    image: str  # relative to the collection: "train/0007.jpg"
    split: Split
    place: str
    instances: tuple[Instance, ...]

    @property
    def stem(self) -> str:
        """The file name of its masks, without suffix."""
        return Path(self.image).stem


class Truth(NamedTuple):
    """The ground truth of a collection."""

    objects: tuple[str, ...]
    attributes: tuple[str, ...]
    hidden: str  # the attribute that no tag names
    photos: tuple[PhotoTruth, ...]


def write_truth(folder: Path, truth: Truth) -> None:
    """Write `truth/truth.json` into the folder of a collection."""
    photos = [
        {**photo._asdict(), "instances": [instance._asdict() for instance in photo.instances]} for photo in truth.photos
    ]
    content = json.dumps({**truth._asdict(), "photos": photos}, indent=1)
    (folder / FOLDER / "truth.json").write_text(content + "\n", encoding="utf-8")


def read_truth(folder: Path | str) -> Truth:
    """Read the ground truth that `write_truth` wrote."""
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
    """Write the two masks (h, w) of a photo."""
    for kind, mask in (("classes", classes), ("instances", instances)):
        image = Image.fromarray(mask.astype(np.uint8))
        image.putpalette(make_voc_palette().tobytes())
        image.save(_locate_mask(folder, kind, stem))


def read_classes(folder: Path | str, photo: PhotoTruth) -> Array:
    """(h, w) uint8: the number of the class of each pixel, from 1; 0 is background."""
    return np.array(Image.open(_locate_mask(Path(folder), "classes", photo.stem)))


def read_instances(folder: Path | str, photo: PhotoTruth) -> Array:
    """(h, w) uint8: the number of the instance of each pixel in the photo's list, from 1; 0 is background."""
    return np.array(Image.open(_locate_mask(Path(folder), "instances", photo.stem)))


def _locate_mask(folder: Path, kind: str, stem: str) -> Path:
    return folder / FOLDER / kind / f"{stem}.png"
