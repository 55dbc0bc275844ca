"""Names of exported photos: the way to each from the folder that holds all, so that no two are the same."""

import os
from collections.abc import Sequence
from pathlib import Path, PurePath

from tagsight.errors import InputError


def find_root(images: Sequence[Path]) -> Path:
    """The deepest folder that holds every photo and folder named."""
    return Path(os.path.commonpath([os.path.abspath(image if image.is_dir() else image.parent) for image in images]))


def name_photo(path: Path, root: Path) -> str:
    """Relative to `root`, with forward slashes."""
    name = PurePath(os.path.relpath(path, root)).as_posix()
    try:
        name.encode()
    except UnicodeEncodeError as problem:
        raise InputError("its name is not valid text, which no format can hold; rename it") from problem
    return name
