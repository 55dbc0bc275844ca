"""Changes of the tags of photos, and the file in which a user lists them."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tagsight.data.collection import RESERVED, resolve_photo
from tagsight.data.formats import is_image
from tagsight.data.textfiles import Record, Records, read_csv, read_jsonl
from tagsight.data.vocabulary import INVISIBLE, KINDS, normalise_tag
from tagsight.errors import InputError

Kind = Literal["object", "attribute"]

COLUMNS = ("photo", "word", "kind", "present")
_JOINERS = "\u200c\u200d"  # within words of several scripts and in emoji
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class TagChange(NamedTuple):
    """A photo shall have a tag, or shall not have it."""

    photo: str  # path relative to the collection, with forward slashes
    word: str
    kind: Kind
    present: bool


class Wanted(NamedTuple):
    """The tags of one photo that are wanted (`present`) or unwanted, one change per tag and kind."""

    photo: str  # normal path
    changes: tuple[TagChange, ...]


def read_changes(path: Path) -> tuple[TagChange, ...]:
    """Read a CSV or JSON lines file with `photo`, `word`, `kind` and `present`; InputError for a wrong line."""
    readers = {".csv": read_csv, ".jsonl": read_jsonl}
    if path.suffix.lower() not in readers:
        raise InputError(f"{str(path)!r} is neither .csv nor .jsonl: give a file of one of the two formats")
    table: Records = readers[path.suffix.lower()](path)
    if table.faults:
        fault = table.faults[0]
        raise InputError(f"{str(path)!r}, {fault.where}: {fault.reason}: correct that line")
    if table.columns and not set(COLUMNS) <= set(table.columns):
        raise InputError(f"{str(path)!r} has the columns {', '.join(table.columns)}: it must have {','.join(COLUMNS)}")
    return tuple(_read_change(path, record) for record in table.records)


def clean_word(word: str) -> str:
    """The word in the user's spelling, with single spaces; InputError for a word that cannot be a tag."""
    visible = word.translate(INVISIBLE)
    cleaned = " ".join("".join(one if one.isprintable() or one in _JOINERS else " " for one in visible).split())
    tag = normalise_tag(cleaned)
    if not tag or tag != normalise_tag(word):
        raise InputError(f"{word!r} has no letters or has characters that no tag may have: choose another word")
    if RESERVED.fullmatch(tag):
        raise InputError(f"{word!r} cannot be a tag, since tagsight uses this name itself: choose another word")
    return cleaned


def check_photo(root: Path, photo: str, *, listed: bool) -> None:
    """Raise InputError if a photo is outside the collection, does not exist, or has a name that is no text.

    A file that the collection does not list must have the suffix of an image.
    """
    try:
        photo.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{photo!r} is not valid Unicode text: rename the photo") from error
    resolve_photo(root, photo)
    if not listed and not is_image(photo):
        raise InputError("not a photo, according to the suffix of its name")


def group_changes(changes: Iterable[TagChange]) -> tuple[Wanted, ...]:
    """The changes by photo, in order of first appearance; of changes of the same tag of a photo, the last counts."""
    photos: dict[str, dict[tuple[str, Kind], TagChange]] = {}
    for change in changes:
        tags = photos.setdefault(os.path.normpath(change.photo), {})
        key = (normalise_tag(change.word), change.kind)
        tags.pop(key, None)
        tags[key] = change
    return tuple(Wanted(photo, tuple(tags.values())) for photo, tags in photos.items())


def _read_change(path: Path, record: Record) -> TagChange:
    where, values = record
    try:
        return TagChange(
            _read_text(values, "photo"),
            _read_text(values, "word"),
            _read_kind(values),
            _read_truth(values.get("present")),
        )
    except InputError as error:
        raise InputError(f"{str(path)!r}, {where}: {error}: correct that line") from error


def _read_text(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{key!r} is {value!r}, not a text")
    return value


def _read_kind(values: Mapping[str, Any]) -> Kind:
    kind = KINDS.get(str(values.get("kind")).strip().casefold())
    if kind is None:
        raise InputError(f"'kind' is {values.get('kind')!r}, none of {', '.join(KINDS)}")
    return "object" if kind == "object" else "attribute"


def _read_truth(value: Any) -> bool:
    known = value if isinstance(value, bool) else _TRUTH.get(str(value).strip().casefold())
    if known is None:
        raise InputError(f"'present' is {value!r}, none of {', '.join(_TRUTH)}")
    return known
