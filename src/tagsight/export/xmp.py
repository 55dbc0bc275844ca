"""XMP sidecars for photo managers: `NAME.jpg.xmp`, keywords flat (dc:subject) and nested ("horse|furry").

An existing sidecar keeps all its bytes, and keywords that it lacks are added. The format has no outlines or scores.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tagsight.data.collection import Problem
from tagsight.errors import InputError
from tagsight.export.output import OutputFile, Target, write_each
from tagsight.export.record import ExportedPhoto
from tagsight.export.sidecar import EMPTY, Keywords, add_keywords
from tagsight.storage.files import read_bytes


def write(photos: Iterable[ExportedPhoto], target: Target) -> Iterator[OutputFile | Problem]:
    """One sidecar per photo, merged with the existing one."""

    def encode(photo: ExportedPhoto, name: str) -> bytes:
        file = target.folder / name
        try:
            return add_keywords(read_sidecar(file), list_keywords(photo))
        except InputError as error:
            raise InputError(f"the sidecar {str(file)!r} is not changed: {error}") from error

    yield from write_each(photos, lambda name: f"{name}.xmp", encode, merged=True)


def read_sidecar(file: Path) -> bytes:
    """The content of the sidecar, or an empty packet."""
    if not os.path.lexists(file):
        return EMPTY
    if file.is_symlink() or not file.is_file():
        raise InputError("it is a link or no plain file")
    return read_bytes(file)


def list_keywords(photo: ExportedPhoto) -> Keywords:
    """Objects and attributes, each once; `|` separates levels, so it is replaced by a slash in words."""
    flat: dict[str, None] = {}
    nested: dict[str, None] = {}
    for instance in photo.instances:
        path = instance.name.replace("|", "/")
        flat[instance.name] = nested[path] = None
        for attribute in instance.attributes:
            flat[attribute.name] = nested[f"{path}|{attribute.name.replace('|', '/')}"] = None
    return Keywords(tuple(flat), tuple(nested))
