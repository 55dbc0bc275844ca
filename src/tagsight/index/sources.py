"""The photos of which an index is built."""

import os
from pathlib import Path
from typing import NamedTuple

from tagsight.data.collection import Problem, find_listed
from tagsight.data.listing import list_photos
from tagsight.data.readers import READERS, read_table
from tagsight.data.readers.reader import Options
from tagsight.errors import InputError


class PhotoSource(NamedTuple):
    """Photos under a folder, in a fixed order, and what was left out."""

    root: Path
    photos: tuple[Path, ...]
    problems: tuple[Problem, ...]


class FileStat(NamedTuple):
    """A photo's file when it was listed."""

    path: Path
    n_bytes: int
    mtime_ns: int


def list_source(
    place: Path, *, format: str | None = None, split: str | None = None, images: Path | None = None
) -> PhotoSource:
    """The photos of a collection of a known format; without one, every photo under the folder."""
    if not place.exists():
        raise InputError(f"{str(place)!r} does not exist: give a folder of photos")
    if format is None and not any(reader.fits(place) for reader in READERS.values()):
        if not place.is_dir():
            raise InputError(f"{str(place)!r} is a file: give a folder of photos")
        root = place.resolve()
        listing = list_photos(root)
        return PhotoSource(root, listing.photos, listing.problems)
    table = read_table(place, format, Options(split=split, images=images))
    photos, problems = find_listed(table)
    return PhotoSource(
        Path(os.path.abspath(table.root)), tuple(Path(os.path.abspath(path)) for path in photos), problems
    )


def count_outside_links(source: PhotoSource) -> int:
    """The number of photos that are links, or in linked folders, and lead outside the root."""
    root = os.path.realpath(source.root)
    return sum(not Path(os.path.realpath(path)).is_relative_to(root) for path in source.photos)


def stat_files(source: PhotoSource) -> tuple[dict[str, FileStat], list[Problem]]:
    """Size and time of every photo by its path relative to the root, taken before its content is read.

    A photo that changes later has another time at the next build, which then annotates it again.
    """
    stats: dict[str, FileStat] = {}
    problems: list[Problem] = []
    for path in source.photos:
        name = path.relative_to(source.root).as_posix()
        try:
            name.encode("utf-8")
            status = path.stat()
        except UnicodeEncodeError:
            printable = name.encode("utf-8", "backslashreplace").decode()
            problems.append(Problem(Path(printable), "its name is not valid Unicode text; rename it"))
            continue
        except OSError as error:
            problems.append(Problem(path, error.strerror or str(error)))
            continue
        stats[name] = FileStat(path, status.st_size, status.st_mtime_ns)
    return stats, problems
