"""COCO instances: the tags of a photo are the categories of its annotations and their attributes.

The path is that of the JSON file, or of a folder with ``annotations/instances_SPLIT.json``, ``instances_SPLIT.json``,
``annotations.json`` or ``_annotations.coco.json``. The ``attributes`` of an annotation may be

- a list of names, or of ids in the list ``attributes`` of the file; ``attribute_ids`` likewise (Fashionpedia);
- an object (CVAT): a name whose value is ``true`` is an attribute, and so is a value that is a word ({"colour": "red"}
  gives "red"); ``false``, numbers and empty words give no attribute.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tagsight.data.collection import Problem, Row, Table
from tagsight.data.jsonvalues import is_list, is_object
from tagsight.data.readers.reader import Options, Reader
from tagsight.data.textfiles import read_json
from tagsight.data.vocabulary import Vocabulary
from tagsight.errors import InputError

_PATTERNS = ("annotations/instances_*.json", "instances_*.json", "annotations.json", "_annotations.coco.json")
_PROBES = 20


class _Image(NamedTuple):
    file_name: str
    where: str
    objects: dict[str, None]
    attributes: dict[str, None]


def read(path: Path, options: Options) -> Table:
    """Read one instances file."""
    source = _choose_file(path, options.split)
    content: Any = read_json(source)
    if not is_object(content) or not {"images", "annotations", "categories"} <= content.keys():
        raise InputError(f"{str(source)!r} is not COCO: it must hold 'images', 'annotations' and 'categories'")
    categories = _read_names(source, content["categories"])
    attributes = _read_names(source, content.get("attributes") or [])
    problems: list[Problem] = []
    images = _read_images(source, _require_list(source, content, "images"), problems)
    for number, annotation in enumerate(_require_list(source, content, "annotations"), start=1):
        try:
            _add_annotation(annotation, images, categories, attributes)
        except InputError as error:
            problems.append(Problem(source, f"annotation {number}: {error}"))
    rows = tuple(
        Row(image.file_name, tuple(image.objects), tuple(image.attributes), image.where) for image in images.values()
    )
    declared = Vocabulary(tuple(categories.values()), tuple(attributes.values()))
    return Table(source, options.images or _find_photos(source, rows), rows, declared, tuple(problems))


def _require_list(source: Path, content: Mapping[str, Any], key: str) -> list[Any]:
    if not is_list(content[key]):
        raise InputError(f"{str(source)!r}: {key!r} must be a list")
    return content[key]


def _read_names(source: Path, entries: Any) -> dict[Any, str]:
    names: dict[Any, str] = {}
    for entry in entries if is_list(entries) else [entries]:
        if not is_object(entry) or not isinstance(entry.get("name"), str) or not _is_id(entry.get("id")):
            raise InputError(f"{str(source)!r}: {entry!r} must be an object with 'id' and 'name'")
        if entry["id"] in names:
            raise InputError(f"{str(source)!r}: two entries have the id {entry['id']!r}: give each its own id")
        names[entry["id"]] = entry["name"]
    return names


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _read_images(source: Path, entries: list[Any], problems: list[Problem]) -> dict[Any, _Image]:
    images: dict[Any, _Image] = {}
    for number, entry in enumerate(entries, start=1):
        where = f"image {number}"
        if not is_object(entry) or not isinstance(entry.get("file_name"), str):
            problems.append(Problem(source, f"{where}: no 'file_name'"))
        elif not _is_id(entry.get("id")) or entry["id"] in images:
            problems.append(Problem(source, f"{where}: id {entry.get('id')!r} is missing or taken"))
        else:
            images[entry["id"]] = _Image(entry["file_name"], where, {}, {})
    return images


def _add_annotation(
    annotation: Any,
    images: Mapping[Any, _Image],
    categories: Mapping[Any, str],
    attributes: Mapping[Any, str],
) -> None:
    if not is_object(annotation):
        raise InputError(f"{annotation!r} is not an object")
    image_id, category_id = annotation.get("image_id"), annotation.get("category_id")
    if not _is_id(image_id) or image_id not in images:
        raise InputError(f"image_id {image_id!r} is not in 'images'")
    if not _is_id(category_id) or category_id not in categories:
        raise InputError(f"category_id {category_id!r} is not in 'categories'")
    value = annotation.get("attributes", annotation.get("attribute_ids"))
    words = _read_attributes(value, attributes)
    images[image_id].objects[categories[category_id]] = None
    images[image_id].attributes.update(dict.fromkeys(words))


def _read_attributes(value: Any, names: Mapping[Any, str]) -> list[str]:
    if value is None:
        return []
    if is_object(value):
        return [word for key, setting in value.items() if (word := _read_setting(key, setting))]
    if is_list(value):
        return [_read_attribute(item, names) for item in value]
    raise InputError(f"'attributes' is {value!r}, neither a list nor an object")


def _read_setting(key: str, setting: Any) -> str:
    if setting is True or (isinstance(setting, str) and setting.strip().casefold() == "true"):
        return key
    if isinstance(setting, str) and setting.strip().casefold() != "false":
        return setting
    return ""


def _read_attribute(item: Any, names: Mapping[Any, str]) -> str:
    if _is_id(item) and item in names:
        return names[item]
    if isinstance(item, str):
        return item
    raise InputError(f"attribute {item!r} is neither a name nor an id of the list 'attributes'")


def _find_files(path: Path) -> list[Path]:
    return [file for pattern in _PATTERNS for file in sorted(path.glob(pattern)) if file.is_file()]


def _name_split(file: Path) -> str:
    return file.stem.removeprefix("instances_")


def _choose_file(path: Path, split: str | None) -> Path:
    if path.is_file():
        if split is not None:
            raise InputError(f"{str(path)!r} is one file and has no split {split!r}: leave the split out")
        return path
    files = _find_files(path)
    if not files:
        raise InputError(f"no COCO file in {str(path)!r}; looked for {', '.join(_PATTERNS)}")
    chosen = files if split is None else [file for file in files if _name_split(file) == split]
    if len(chosen) != 1:
        raise InputError(f"{str(path)!r}: choose one of the splits {', '.join(map(_name_split, files))}")
    return chosen[0]


def _find_photos(source: Path, rows: tuple[Row, ...]) -> Path:
    """The folder of the photos: the first candidate that has one of the first few photos."""
    root = source.parent.parent if source.parent.name == "annotations" else source.parent
    split = _name_split(source)
    folders = [root / split, root / "images" / split, root / "images", root, source.parent]
    for folder in folders:
        if any(os.path.isfile(folder / row.image) for row in rows[:_PROBES]):
            return folder
    raise InputError(
        f"the photos of {str(source)!r} are in none of "
        f"{', '.join(repr(str(folder)) for folder in folders)}: give their folder as 'images'"
    )


def _fits(path: Path) -> bool:
    return path.suffix.lower() == ".json" if path.is_file() else bool(_find_files(path))


READER = Reader(f"a COCO file ({', '.join(_PATTERNS)})", _fits, read, takes=frozenset({"split", "images"}))
