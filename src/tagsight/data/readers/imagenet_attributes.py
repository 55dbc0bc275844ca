"""ImageNet Attribute labels, v1.0 (Russakovsky and Fei-Fei, 2010): 9,600 photos, 384 synsets, 25 attributes.

The release is ``attrann.mat`` with one struct ``attrann``:

- ``images``      names without suffix, ``n02100583_10358``; the part before ``_`` is the synset
- ``attributes``  the 25 names
- ``labels``      (images, attributes): 1 yes, -1 no, 0 the annotators disagree
- ``bboxes``      x1 x2 y1 y2 of the object that was labelled, from 0 to 1

The release has no photos: they are searched by name under the folder, or under ``images``. A label of 1 is a tag. The
object of a photo is its synset: the first of the synset's words if ``words.txt`` (WordNet id, tab, words separated by
commas, as ImageNet distributes it) is beside the .mat file, and its id otherwise. Synsets with the same first word are
different objects and have their ids in brackets.
"""

import zlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from tagsight.data.collection import Row, Table
from tagsight.data.listing import list_photos
from tagsight.data.readers.reader import Options, Reader
from tagsight.data.textfiles import read_text
from tagsight.data.vocabulary import Vocabulary
from tagsight.errors import InputError

FILE = "attrann.mat"
_FIELDS = ("images", "attributes", "labels", "bboxes")


class AttributeLabels(NamedTuple):
    """The release as arrays, for evaluation; boxes are x0 y0 x1 y1, from 0 to 1."""

    images: tuple[str, ...]
    attributes: tuple[str, ...]
    labels: NDArray[np.int8]  # (I, A) in -1 0 1
    boxes: NDArray[np.float64]  # (I, 4)


def read(path: Path, options: Options) -> Table:
    """Read the labels as photos with tags."""
    source = _find_source(path)
    labels = read_labels(source)
    root = options.images or source.parent
    places = {photo.stem: str(photo.relative_to(root)) for photo in list_photos(root).photos}
    synsets = [image.partition("_")[0] for image in labels.images]
    names = _name_synsets(source.parent / "words.txt", dict.fromkeys(synsets))
    rows = tuple(
        Row(
            places.get(image, f"{image}.JPEG"),
            (names[synset],),
            tuple(word for word, label in zip(labels.attributes, marks, strict=True) if label == 1),
            f"image {number}",
        )
        for number, (image, synset, marks) in enumerate(
            zip(labels.images, synsets, labels.labels, strict=True), start=1
        )
    )
    return Table(source, root, rows, Vocabulary(tuple(names.values()), labels.attributes))


def read_labels(source: Path) -> AttributeLabels:
    """Read ``attrann.mat``; scipy parses it, and nothing in the file is executed."""
    struct = _load_struct(source)
    images, attributes = (_read_strings(source, struct, field) for field in ("images", "attributes"))
    labels = np.atleast_2d(np.asarray(struct["labels"]))
    if labels.shape != (len(images), len(attributes)) or not np.isin(labels, (-1, 0, 1)).all():
        raise InputError(
            f"{str(source)!r}: 'labels' has the shape {labels.shape} where {len(images)} images and "
            f"{len(attributes)} attributes need {(len(images), len(attributes))}, all in -1, 0, 1"
        )
    boxes = _read_boxes(source, struct["bboxes"])
    if boxes.shape != (len(images), 4):
        raise InputError(f"{str(source)!r}: {len(boxes)} 'bboxes' where there are {len(images)} images")
    return AttributeLabels(images, attributes, labels.astype(np.int8), boxes)


def _load_struct(source: Path) -> dict[str, Any]:
    try:
        content = loadmat(source, variable_names=["attrann"], squeeze_me=True)
    except NotImplementedError as error:
        raise InputError(f"{str(source)!r} is a MATLAB 7.3 file: save it with -v7") from error
    except (OSError, ValueError, TypeError, LookupError, EOFError, MatReadError, zlib.error) as error:
        raise InputError(f"{str(source)!r} is not a readable MATLAB file ({error}): fetch it again") from error
    struct: NDArray[Any] = np.asarray(content.get("attrann"))
    if not struct.dtype.names or struct.shape != ():
        raise InputError(f"{str(source)!r} holds no struct 'attrann': is it the ImageNet Attribute release?")
    missing = [field for field in _FIELDS if field not in struct.dtype.names]
    if missing:
        raise InputError(f"{str(source)!r}: 'attrann' has no field {missing[0]!r}; it needs {', '.join(_FIELDS)}")
    return {field: struct[field].item() for field in _FIELDS}


def _read_strings(source: Path, struct: dict[str, Any], field: str) -> tuple[str, ...]:
    values = np.atleast_1d(struct[field]).ravel().tolist()
    if not all(isinstance(value, str) for value in values):
        raise InputError(f"{str(source)!r}: {field!r} must be a list of names")
    return tuple(value.strip() for value in values)


def _read_boxes(source: Path, bboxes: Any) -> NDArray[np.float64]:
    structs = np.atleast_1d(np.asarray(bboxes)).ravel()
    try:
        # Sides with several numbers list all objects; the labels are those of the first.
        sides = [
            [float(np.ravel(np.asarray(box)[side].item())[0]) for side in ("x1", "y1", "x2", "y2")] for box in structs
        ]
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{str(source)!r}: 'bboxes' must be structs with x1, x2, y1, y2") from error
    return np.array(sides, dtype=np.float64).reshape(-1, 4)


def _name_synsets(words: Path, synsets: Iterable[str]) -> dict[str, str]:
    if not words.is_file():
        return {synset: synset for synset in synsets}
    lines = (line.partition("\t") for line in read_text(words).splitlines())
    known = {synset.strip(): names.partition(",")[0].strip() for synset, _, names in lines}
    first = {synset: known.get(synset) or synset for synset in synsets}
    uses = Counter(name.casefold() for name in first.values())
    return {synset: name if uses[name.casefold()] == 1 else f"{name} ({synset})" for synset, name in first.items()}


def _find_source(path: Path) -> Path:
    source = path if path.is_file() else path / FILE
    if not source.is_file():
        raise InputError(f"no {FILE} in {str(path)!r}: put the released file there")
    return source


def _fits(path: Path) -> bool:
    return path.name == FILE if path.is_file() else (path / FILE).is_file()


READER = Reader(f"{FILE} (ImageNet Attribute)", _fits, read, takes=frozenset({"images"}))
