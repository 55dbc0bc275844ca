"""PASCAL VOC: `SegmentationClass/NAME.png` with the palette of VOC (0 background, 1.. objects), and `class_names.txt`.

The pixels are exact. The format has no scores, attributes or borders between instances.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

import numpy as np

from tagsight.data.collection import Problem
from tagsight.errors import InputError
from tagsight.export.output import OutputFile, Target, write_each
from tagsight.export.record import ExportedPhoto
from tagsight.pictures.palette import LARGEST, encode_palette

FILES = ("class_names.txt",)


def write(photos: Iterable[ExportedPhoto], target: Target) -> Iterator[OutputFile | Problem]:
    """One mask per photo, and the names in the order of the pixel values, one per line."""
    names = target.vocabulary.objects
    if len(names) > LARGEST:
        raise InputError(f"a palette PNG holds {LARGEST} objects and the model has {len(names)}; choose another format")
    yield from write_each(photos, name_mask, lambda photo, _: encode_palette(paint_classes(photo)))
    lines = ["background", *(" ".join(name.split()) for name in names)]
    yield OutputFile(FILES[0], "".join(f"{line}\n" for line in lines).encode())


def name_mask(name: str) -> str:
    """The name of the mask of a photo."""
    return f"SegmentationClass/{PurePosixPath(name).with_suffix('.png')}"


def paint_classes(photo: ExportedPhoto) -> np.ndarray:
    """(H, W) uint8: 0 background, 1.. objects in the model's order."""
    values = np.array([0, *(instance.category + 1 for instance in photo.instances)], np.uint8)
    return values[photo.owner]
