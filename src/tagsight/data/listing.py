"""The photos in folders, whether a collection lists them or not."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tagsight.data.collection import Problem
from tagsight.data.formats import OTHER_IMAGE_SUFFIXES, PHOTO_SUFFIXES, find_remedy
from tagsight.storage.outputs import RECORD, SharedFolder

_SHOWN = 10
_LINKED_FOLDER = "a link to a folder, which is not followed: copy its photos here, or link them one by one"


class Listing(NamedTuple):
    """Photos in a fixed order, and the problems of the folders and files that were left out."""

    photos: tuple[Path, ...]
    problems: tuple[Problem, ...]


class ChosenPhoto(NamedTuple):
    """A photo that was given by its path or is in a given folder."""

    path: Path
    folder: Path | None  # the given folder; None if the photo was given by its path


class Chosen(NamedTuple):
    """Photos in the given order, and the folders and files that were left out."""

    photos: tuple[ChosenPhoto, ...]
    problems: tuple[Problem, ...]


def choose_photos(paths: Iterable[Path]) -> Chosen:
    """The given photos and the photos in the given folders."""
    photos: list[ChosenPhoto] = []
    problems: list[Problem] = []
    for path in paths:
        if not path.is_dir():
            photos.append(ChosenPhoto(path, None))
            continue
        listing = list_photos(path)
        problems += listing.problems
        photos += [ChosenPhoto(photo, path) for photo in listing.photos]
    return Chosen(tuple(photos), tuple(problems))


def list_photos(root: Path) -> Listing:
    """List the files under a folder whose names have the suffix of a photo, links to files included.

    Hidden files and folders are skipped, and so are masks and exports that tagsight wrote. Links to folders, photos of
    a format that cannot be read here, and other image files are problems; the last are reported together.
    """
    photos: list[Path] = []
    problems: list[Problem] = []
    others: list[Path] = []
    outputs: list[SharedFolder] = []

    def note(error: OSError) -> None:
        problems.append(Problem(Path(error.filename), f"folder cannot be listed: {error.strerror}"))

    for folder, subfolders, files in os.walk(root, onerror=note):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        paths = (Path(folder, name) for name in subfolders)
        problems += [Problem(path, _LINKED_FOLDER) for path in paths if path.is_symlink()]
        if RECORD in files:
            outputs.append(SharedFolder(Path(folder)))
        for name in sorted(files):
            path = Path(folder, name)
            suffix = path.suffix.lower()
            if name.startswith(".") or any(output.wrote(path) for output in outputs):
                continue
            if suffix in OTHER_IMAGE_SUFFIXES:
                others.append(path)
            elif (remedy := find_remedy(path)) is not None:
                problems.append(Problem(path, remedy))
            elif suffix in PHOTO_SUFFIXES and path.is_file():
                photos.append(path)
            elif suffix in PHOTO_SUFFIXES:
                problems.append(Problem(path, "not a file, in spite of its name: a broken link or a device"))
    return Listing(tuple(photos), (*problems, *_report_others(root, others)))


def _report_others(root: Path, others: list[Path]) -> tuple[Problem, ...]:
    """One problem for all image files of formats that are not read."""
    if not others:
        return ()
    names = ", ".join(repr(str(path.relative_to(root))) for path in others[:_SHOWN])
    shown = names + (", ..." if len(others) > _SHOWN else "")
    count = "1 image file is" if len(others) == 1 else f"{len(others)} image files are"
    return (Problem(root, f"{count} of a format that is not read ({shown}): convert such files to JPEG"),)
