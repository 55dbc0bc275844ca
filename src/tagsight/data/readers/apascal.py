"""PASCAL VOC 2008 with the aPascal attributes of Farhadi et al. (2009).

```
attribute_data/apascal_{train,test}.txt      photo class xmin ymin xmax ymax and 64 times 0 or 1, one box per line
attribute_data/{class_names,attribute_names}.txt
VOCdevkit/VOC2008/{JPEGImages,SegmentationClass}/
VOCdevkit/VOC2008/ImageSets/{Main,Segmentation}/{train,val}.txt
pascal_sentences.json                        captions of some of the photos
```

The tags of a photo are the union over its boxes. The vocabulary has the first 20 of the class names (the others occur
in aYahoo only) and the 64 attributes, in the order of the files. The value c of a mask is object c - 1 in that order;
0 is background and 255 is void.
"""

from pathlib import Path
from typing import NamedTuple

from tagsight.data.collection import Problem, Row, Table
from tagsight.data.readers.captions import COLOURS, read_colours
from tagsight.data.readers.reader import Options, Reader, choose_split
from tagsight.data.textfiles import Fault, read_text
from tagsight.data.vocabulary import Vocabulary, normalise_tag
from tagsight.errors import InputError

CLASSES = 20
VOC = Path("VOCdevkit", "VOC2008")
MASKS = VOC / "SegmentationClass"


class Split(NamedTuple):
    """The lists of photos of a split, and its file of boxes."""

    photos: str
    boxes: str


SPLITS = {
    "train": Split("Main/train.txt", "apascal_train.txt"),
    "test": Split("Main/val.txt", "apascal_test.txt"),
    "segmentation-train": Split("Segmentation/train.txt", "apascal_train.txt"),
    "segmentation-test": Split("Segmentation/val.txt", "apascal_test.txt"),
}


class Instance(NamedTuple):
    """One annotated object: its photo, class, box and attributes."""

    path: Path
    name: str
    box: tuple[int, int, int, int]  # x0 y0 x1 y1 as in VOC: pixels are numbered from 1 and x1, y1 are inclusive
    attributes: tuple[str, ...]

    @property
    def objects(self) -> tuple[str, ...]:
        """The class as a tag, so that an instance is `vocabulary.Tagged`."""
        return (self.name,)


class Boxes(NamedTuple):
    """The instances of a split, and its lines that cannot be read."""

    instances: tuple[Instance, ...]
    faults: tuple[Fault, ...]


def read(path: Path, options: Options) -> Table:
    """Read one split as photos with tags."""
    split = SPLITS[choose_split(path, options.split, SPLITS)]
    vocabulary = read_vocabulary(path)
    boxes = _read_boxes(path, split, vocabulary)
    colours = read_colours(path / "pascal_sentences.json") if options.colours else {}
    objects: dict[str, dict[str, None]] = {}
    attributes: dict[str, dict[str, None]] = {}
    for instance in boxes.instances:
        objects.setdefault(instance.path.name, {})[instance.name] = None
        attributes.setdefault(instance.path.name, {}).update(dict.fromkeys(instance.attributes))
    source = path / "attribute_data" / split.boxes
    rows = tuple(
        Row(photo, tuple(objects.get(photo, ())), (*attributes.get(photo, ()), *colours.get(photo, ())), where)
        for where, photo in _read_photos(path, split)
    )
    if options.colours:
        vocabulary = Vocabulary(vocabulary.objects, vocabulary.attributes + COLOURS)
    problems = tuple(Problem(source, f"{fault.where}: {fault.reason}") for fault in boxes.faults)
    return Table(source, path / VOC / "JPEGImages", rows, vocabulary, problems)


def read_vocabulary(path: Path) -> Vocabulary:
    """The 20 classes and the 64 attributes, normalised as tags are."""
    folder = path / "attribute_data"
    classes = _read_lines(folder / "class_names.txt")[:CLASSES]
    return Vocabulary(
        tuple(map(normalise_tag, classes)),
        tuple(map(normalise_tag, _read_lines(folder / "attribute_names.txt"))),
    )


def read_instances(path: Path, *, split: str) -> tuple[Instance, ...]:
    """The boxes of a split for evaluation, in the order of the file; InputError for a line that cannot be read."""
    chosen = SPLITS[choose_split(path, split, SPLITS)]
    boxes = _read_boxes(path, chosen, read_vocabulary(path))
    if boxes.faults:
        raise InputError(f"{chosen.boxes}, {boxes.faults[0].where}: {boxes.faults[0].reason}: correct that line")
    photos = set(list_photos(path, split=split))
    return tuple(instance for instance in boxes.instances if instance.path.name in photos)


def list_photos(path: Path, *, split: str) -> list[str]:
    """Names of the photos of a split."""
    return [photo for _, photo in _read_photos(path, SPLITS[choose_split(path, split, SPLITS)])]


def mask_path(path: Path, photo: Path) -> Path:
    """The path of the mask of a photo; only photos of the segmentation splits have one."""
    return path / MASKS / f"{photo.stem}.png"


def _read_lines(path: Path) -> list[str]:
    return [line.strip() for line in read_text(path).splitlines() if line.strip()]


def _read_photos(path: Path, split: Split) -> list[tuple[str, str]]:
    source = path / VOC / "ImageSets" / split.photos
    return [
        (f"{split.photos} line {number}", f"{name}.jpg") for number, name in enumerate(_read_lines(source), start=1)
    ]


def _read_boxes(path: Path, split: Split, vocabulary: Vocabulary) -> Boxes:
    photos = path / VOC / "JPEGImages"
    instances: list[Instance] = []
    faults: list[Fault] = []
    for number, line in enumerate(read_text(path / "attribute_data" / split.boxes).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            instances.append(_read_box(photos, line, vocabulary))
        except InputError as error:
            faults.append(Fault(f"line {number}", str(error)))
    return Boxes(tuple(instances), tuple(faults))


def _read_box(photos: Path, line: str, vocabulary: Vocabulary) -> Instance:
    cells = line.split()
    expected = 6 + len(vocabulary.attributes)
    if len(cells) != expected:
        raise InputError(f"{len(cells)} values where {expected} are expected")
    photo, name, *box = cells[:6]
    if normalise_tag(name) not in vocabulary.objects:
        raise InputError(f"class {name!r} is not one of the first {CLASSES} in class_names.txt")
    if not all(value.lstrip("-").isdecimal() for value in box) or set(cells[6:]) - {"0", "1"}:
        raise InputError("the box must be four whole numbers and each attribute 0 or 1")
    x0, y0, x1, y1 = map(int, box)
    on = (word for word, value in zip(vocabulary.attributes, cells[6:], strict=True) if value == "1")
    return Instance(photos / photo, normalise_tag(name), (x0, y0, x1, y1), tuple(on))


def _fits(path: Path) -> bool:
    return (path / "attribute_data" / "apascal_train.txt").is_file() and (path / VOC).is_dir()


READER = Reader(
    "attribute_data/apascal_train.txt and VOCdevkit/VOC2008 (aPascal)",
    _fits,
    read,
    takes=frozenset({"split", "colours"}),
)
