"""What a format makes of a stream of photos: files, and problems with single photos."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tagsight.data.collection import Problem
from tagsight.data.vocabulary import Vocabulary
from tagsight.errors import InputError
from tagsight.export.record import ExportedPhoto


class OutputFile(NamedTuple):
    """A file under the folder of the export."""

    name: str
    content: bytes
    merged: bool = False  # the content keeps all that the file holds already


class Target(NamedTuple):
    """Whose words they are, and where the files will be."""

    vocabulary: Vocabulary
    folder: Path


WriteFiles = Callable[[Iterable[ExportedPhoto], Target], Iterator[OutputFile | Problem]]
"""Takes photos one at a time and keeps no mask of them; files of the whole export come last."""


class Format(NamedTuple):
    """How photos become files."""

    write: WriteFiles
    files: tuple[str, ...] = ()  # names of the files of the whole export


def write_each(
    photos: Iterable[ExportedPhoto],
    place: Callable[[str], str],
    encode: Callable[[ExportedPhoto, str], bytes],
    *,
    merged: bool = False,
) -> Iterator[OutputFile | Problem]:
    """A file for each photo at the place of its name; one whose place is taken is left out."""
    taken: dict[str, str] = {}
    for photo in photos:
        name = place(photo.name)
        if name in taken:
            reason = f"{name!r} is already the file of {taken[name]!r}; rename one of the two photos"
            yield Problem(photo.path, reason)
            continue
        try:
            content = encode(photo, name)
        except InputError as error:
            yield Problem(photo.path, str(error))
            continue
        taken[name] = photo.name
        yield OutputFile(name, content, merged)


def to_json(value: Any) -> bytes:
    """JSON on one line, in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class JsonList:
    """A list that is kept as text, a fraction of the memory of its values."""

    def __init__(self) -> None:
        self._items: list[bytes] = []

    def __len__(self) -> int:
        return len(self._items)

    def add(self, value: Any) -> None:
        """Put a value at the end."""
        self._items.append(to_json(value))

    def to_json(self) -> bytes:
        """The list as JSON."""
        return b"[" + b",\n".join(self._items) + b"]"


def join_object(fields: dict[str, bytes]) -> bytes:
    """A JSON object whose values are JSON already."""
    return b"{" + b",\n".join(to_json(key) + b":" + value for key, value in fields.items()) + b"}\n"
