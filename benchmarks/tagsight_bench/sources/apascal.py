"""aPascal: 2,113 / 2,227 photos with boxes, of which 326 / 313 have masks.

Attribute sets: none; the 8 materials; all 64; those and the 10 colours of captions (`data/readers/captions.py` has the
rule), which only photos with captions can have.
"""

from pathlib import Path

from tagsight.data.readers import open_collection
from tagsight.data.readers.apascal import Instance, list_photos, mask_path, read_instances
from tagsight_bench.sources.source import Source, TrueBox, TruePhoto

SPLITS = {"photos": ("train", "test"), "segmentation": ("segmentation-train", "segmentation-test")}

# The paper does not list its eight materials. The last thirteen attributes of the file, skin to leather, are materials,
# except for "clear" and "shiny", which are reflectances. Of the other eleven, these are on the most training photos.
MATERIALS = ("skin", "metal", "plastic", "wood", "cloth", "furry", "glass", "feather")


def read_apascal(folder: Path, part: str) -> Source:
    """The photos of a part: `photos` or `segmentation`."""
    train, test = SPLITS[part]
    vocabulary = open_collection(folder, format="apascal", split=train, colours=True).vocabulary
    plain = open_collection(folder, format="apascal", split=train).vocabulary.attributes
    sets = {len(names): names for names in ((), MATERIALS, plain, vocabulary.attributes)}
    return Source(vocabulary, sets, _read_split(folder, train), _read_split(folder, test), 255)


def _read_split(folder: Path, split: str) -> tuple[TruePhoto, ...]:
    outlined = {photo for outlines in SPLITS["segmentation"] for photo in list_photos(folder, split=outlines)}
    boxes: dict[str, list[TrueBox]] = {}
    for instance in read_instances(folder, split=split):
        boxes.setdefault(instance.path.name, []).append(_make_box(instance))
    return tuple(
        TruePhoto(
            photo.path,
            photo.objects,
            photo.attributes,
            tuple(boxes.get(photo.path.name, ())),
            mask_path(folder, photo.path) if photo.path.name in outlined else None,
        )
        for photo in open_collection(folder, format="apascal", split=split, colours=True).photos
    )


def _make_box(instance: Instance) -> TrueBox:
    x0, y0, x1, y1 = instance.box  # numbered from 1, inclusive
    return TrueBox((instance.name,), instance.attributes, (x0 - 1, y0 - 1, x1, y1))
