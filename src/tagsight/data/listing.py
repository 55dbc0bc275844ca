"""The photos that lie in a folder, whatever any list says."""

import os
from pathlib import Path
from typing import NamedTuple

from tagsight.data.collection import Problem

PHOTO_SUFFIXES = frozenset({".bmp", ".gif", ".jfif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})


class Listing(NamedTuple):
    """Photos in a fixed order, and the folders and files that could not be taken."""

    photos: tuple[Path, ...]
    problems: tuple[Problem, ...]


def list_photos(root: Path) -> Listing:
    """List the files under a folder that are named like photos; hidden and linked folders are left out."""
    photos: list[Path] = []
    problems: list[Problem] = []

    def note(error: OSError) -> None:
        problems.append(Problem(Path(error.filename), f"folder cannot be listed: {error.strerror}"))

    for folder, subfolders, files in os.walk(root, onerror=note):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in sorted(files):
            path = Path(folder, name)
            if name.startswith(".") or path.suffix.lower() not in PHOTO_SUFFIXES:
                continue
            if path.is_file():
                photos.append(path)
            else:
                problems.append(Problem(path, "named like a photo, but no file: a broken link or a device"))
    return Listing(tuple(photos), tuple(problems))
