"""The output of a format: files, and problems of single photos."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tagsight.data.collection import Problem
from tagsight.data.vocabulary import Vocabulary
from tagsight.errors import InputError
from tagsight.export.record import ExportedPhoto
from tagsight.storage.edits import FileChange

Made = TypeVar("Made")


class OutputFile(NamedTuple):
    """A file under the folder of the export."""

    name: str
    content: bytes


class Target(NamedTuple):
    """The vocabulary of the model, and the folder of the export."""

    vocabulary: Vocabulary
    folder: Path


WriteFiles = Callable[[Iterable[ExportedPhoto], Target], Iterator[OutputFile | FileChange | Problem]]
"""Takes photos one at a time and keeps none of their masks; files of the whole export are yielded last."""


class Format(NamedTuple):
    """A format: the function that yields its files, and the names of the files of the whole export."""

    write: WriteFiles
    files: tuple[str, ...] = ()


def write_each(
    photos: Iterable[ExportedPhoto],
    name_file: Callable[[str], str],
    encode: Callable[[ExportedPhoto, str], bytes],
) -> Iterator[OutputFile | Problem]:
    """One file per photo, named by `name_file`; a photo whose file name another one has already is a problem."""
    yield from make_each(photos, name_file, lambda photo, name: OutputFile(name, encode(photo, name)))


def make_each(
    photos: Iterable[ExportedPhoto],
    name_file: Callable[[str], str],
    make: Callable[[ExportedPhoto, str], Made],
) -> Iterator[Made | Problem]:
    """The result of `make` for each photo and the name of its file, as in `write_each`."""
    taken: dict[str, str] = {}
    for photo in photos:
        name = name_file(photo.name)
        if name in taken:
            reason = f"{name!r} is already the file of {taken[name]!r}; rename one of the two photos"
            yield Problem(photo.path, reason)
            continue
        try:
            made = make(photo, name)
        except InputError as error:
            yield Problem(photo.path, str(error))
            continue
        taken[name] = photo.name
        yield made


def to_json(value: Any) -> bytes:
    """JSON on one line, in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class JsonList:
    """A list stored as text, which takes a fraction of the memory of its values."""

    def __init__(self) -> None:
        self._items: list[bytes] = []

    def __len__(self) -> int:
        return len(self._items)

    def add(self, value: Any) -> None:
        """Append a value."""
        self._items.append(to_json(value))

    def to_json(self) -> bytes:
        """The list as JSON."""
        return b"[" + b",\n".join(self._items) + b"]"


def join_object(fields: dict[str, bytes]) -> bytes:
    """A JSON object whose values are encoded already."""
    return b"{" + b",\n".join(to_json(key) + b":" + value for key, value in fields.items()) + b"}\n"
