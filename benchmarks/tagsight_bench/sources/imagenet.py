"""ImageNet Attribute: 9,600 photos of 384 synsets, each with one labelled box and 25 attributes.

The paper's split is not released. Here an object is a synset; of its photos in the order of their names, every other
one is a training photo, and the rest are test photos. A label on which the annotators disagree counts as absent.
"""

from itertools import groupby
from pathlib import Path

import numpy as np

from tagsight.data.collection import TaggedPhoto
from tagsight.data.photo import read_size
from tagsight.data.readers import open_collection
from tagsight.data.readers.imagenet_attributes import FILE, read_labels
from tagsight.errors import InputError
from tagsight.types import Floats
from tagsight_bench.sources.source import Source, TrueBox, TruePhoto


def read_imagenet(folder: Path, part: str) -> Source:
    """The photos; there is one part."""
    collection = open_collection(folder, format="imagenet-attributes")
    if lost := collection.problems:
        raise InputError(
            f"{len(lost)} of the photos cannot be used, first {str(lost[0].path)!r} ({lost[0].reason}): "
            f"a benchmark needs all photos that {FILE} names"
        )
    labels = read_labels(folder / FILE)
    boxes = dict(zip(labels.images, labels.boxes, strict=True))
    known: tuple[list[TruePhoto], list[TruePhoto]] = ([], [])
    photos = sorted(collection.photos, key=lambda photo: (photo.objects, photo.path.name))
    for _, of_synset in groupby(photos, key=lambda photo: photo.objects):
        for turn, photo in enumerate(of_synset):
            known[turn % 2].append(_make_photo(photo, boxes[photo.path.stem]))
    attributes = collection.vocabulary.attributes
    return Source(collection.vocabulary, {len(attributes): attributes}, tuple(known[0]), tuple(known[1]), 255)


def _make_photo(photo: TaggedPhoto, box: Floats) -> TruePhoto:
    width, height = read_size(photo.path)
    x0, y0 = np.floor(box[:2] * (width, height)).astype(int).clip(0, (width - 1, height - 1)).tolist()
    x1, y1 = np.ceil(box[2:] * (width, height)).astype(int).clip((x0 + 1, y0 + 1), (width, height)).tolist()
    boxed = TrueBox((photo.objects[0],), photo.attributes, (x0, y0, x1, y1))
    return TruePhoto(photo.path, photo.objects, photo.attributes, (boxed,))
