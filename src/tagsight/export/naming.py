"""Names of exported photos: their distinct paths relative to the folder that holds them all."""

import os
from collections.abc import Sequence
from pathlib import Path, PurePath

from tagsight.errors import InputError


def find_root(images: Sequence[Path]) -> Path:
    """The deepest folder that contains all given photos and folders."""
    return Path(os.path.commonpath([os.path.abspath(image if image.is_dir() else image.parent) for image in images]))


def name_photo(path: Path, root: Path) -> str:
    """The path relative to `root`, with forward slashes."""
    name = PurePath(os.path.relpath(path, root)).as_posix()
    try:
        name.encode()
    except UnicodeEncodeError as problem:
        raise InputError("its name is not valid Unicode text, which the formats need; rename it") from problem
    return name
