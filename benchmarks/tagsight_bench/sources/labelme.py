"""LabelMe Outdoor with ADE20K's labels: 2,127 / 206 photos, 33 classes; pixels have a class or are unlabelled."""

from pathlib import Path

from tagsight.data.readers import open_collection
from tagsight.data.readers.labelme import mask_path
from tagsight_bench.sources.source import Source, TruePhoto


def read_labelme(folder: Path, part: str) -> Source:
    """The photos; there is one part."""
    vocabulary = open_collection(folder, format="labelme", split="train").vocabulary
    return Source(vocabulary, {0: ()}, _read_split(folder, "train"), _read_split(folder, "test"), 0)


def _read_split(folder: Path, split: str) -> tuple[TruePhoto, ...]:
    return tuple(
        TruePhoto(photo.path, photo.objects, photo.attributes, mask=mask_path(folder, photo.path))
        for photo in open_collection(folder, format="labelme", split=split).photos
    )
