"""LabelMe Outdoor photos with ADE20K's labels mapped to the 33 SIFT Flow classes.

```
images/NAME.jpg    masks33/NAME.png (0 void, c the c-th of the 33 classes)
classes33.json     ["void", 33 names]
index.json         [{"name", "split": "training" | "validation", "classes33": [names in the mask], ...}]
```

The tags of a photo are the classes of its mask, as the index lists them. There are no attributes. All 33
classes are in the vocabulary, so that a mask's value c is object c - 1, though not every class occurs.
"""

from pathlib import Path
from typing import Any

from tagsight.data.collection import Problem, Row, Table
from tagsight.data.jsonvalues import is_list, is_object, is_words
from tagsight.data.readers.reader import Options, Reader, choose_split
from tagsight.data.textfiles import read_json
from tagsight.data.vocabulary import Vocabulary, normalise_tag
from tagsight.errors import InputError

SPLITS = {"train": "training", "test": "validation"}


def read(path: Path, options: Options) -> Table:
    """Read one split as photos with tags."""
    split = SPLITS[choose_split(path, options.split, SPLITS)]
    source = path / "index.json"
    entries: Any = read_json(source)
    if not is_list(entries):
        raise InputError(f"{str(source)!r} must be a list with one object per photo")
    rows: list[Row] = []
    problems: list[Problem] = []
    for number, entry in enumerate(entries, start=1):
        try:
            if _read_split(entry) == split:
                rows.append(_read_row(entry, f"entry {number}"))
        except InputError as error:
            problems.append(Problem(source, f"entry {number}: {error}"))
    return Table(source, path / "images", tuple(rows), read_vocabulary(path), tuple(problems))


def read_vocabulary(path: Path) -> Vocabulary:
    """The 33 classes in the order of the mask values."""
    source = path / "classes33.json"
    names: Any = read_json(source)
    if not is_words(names) or names[:1] != ["void"]:
        raise InputError(f"{str(source)!r} must be a list of names that starts with 'void'")
    return Vocabulary(tuple(map(normalise_tag, names[1:])), ())


def mask_path(path: Path, photo: Path) -> Path:
    """The path of the mask of a photo."""
    return path / "masks33" / f"{photo.stem}.png"


def _read_split(entry: Any) -> str:
    split = entry.get("split") if is_object(entry) else None
    if split not in SPLITS.values():
        raise InputError(f"split {split!r} is none of {', '.join(SPLITS.values())}")
    return str(split)


def _read_row(entry: Any, where: str) -> Row:
    name, classes = entry.get("name"), entry.get("classes33")
    if not isinstance(name, str):
        raise InputError(f"'name' is {name!r}, not the name of a photo")
    if not is_words(classes):
        raise InputError(f"'classes33' is {classes!r}, not a list of names")
    return Row(f"{name}.jpg", tuple(classes), (), where)


def _fits(path: Path) -> bool:
    return (path / "classes33.json").is_file() and (path / "index.json").is_file()


READER = Reader("index.json and classes33.json (LabelMe Outdoor)", _fits, read, takes=frozenset({"split"}))
