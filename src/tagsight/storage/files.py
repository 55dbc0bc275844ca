"""Atomic writes of files, and the cache folder."""

import atexit
import errno
import os
import re
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from platformdirs import user_cache_path

from tagsight.errors import InputError, TagsightWarning, WriteError

_PARTIAL = re.compile(r"\.partial-[0-9a-f]{16}")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file; after a crash it has its previous content or the new one."""
    with replace_file(path) as file:
        file.write(content)


@contextmanager
def replace_file(path: Path) -> Generator[BinaryIO]:
    """Open a new file that replaces `path` when the block ends without an exception.

    Raises WriteError with `path` and the reason if the disk is full or the folder is not writable.
    """
    partial = name_partial(path.parent)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException as problem:
        _discard(partial)
        if isinstance(problem, OSError):
            raise WriteError(path, problem.strerror or str(problem), _remedy(path, problem)) from problem
        raise


def append_line(path: Path, line: str) -> None:
    """Append a line to a file; a last line that a killed process left incomplete is ended first."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(f"\n{line}\n".encode())
    except OSError as problem:
        raise WriteError(path, problem.strerror or str(problem), _remedy(path, problem)) from problem


def _remedy(path: Path, problem: OSError) -> str:
    in_cache = path.absolute().is_relative_to(locate_cache().absolute())
    other = "point TAGSIGHT_CACHE elsewhere" if in_cache else "choose another place"
    return f"free some space or {other}" if problem.errno in (errno.ENOSPC, errno.EDQUOT) else other


def name_partial(folder: Path) -> Path:
    """A new path in `folder` for a file or folder that is not complete yet."""
    return folder / f".partial-{secrets.token_hex(8)}"


def is_partial(name: str) -> bool:
    """Whether a name is one of `name_partial`, left by a killed process."""
    return _PARTIAL.fullmatch(name) is not None


def _discard(partial: Path) -> None:
    try:
        partial.unlink(missing_ok=True)
    except OSError:  # the folder does not exist or is not writable, so there is no partial file
        return


def read_bytes(path: Path) -> bytes:
    """The content of a file that the user named; InputError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InputError(f"cannot read {str(path)!r}: {problem.strerror or problem}") from problem


def locate_cache() -> Path:
    """The folder $TAGSIGHT_CACHE, or the user's cache folder of the platform (~/.cache/tagsight on Linux).

    If it is not writable, a temporary folder of this process and its workers, which is removed when this process ends.
    """
    if own := os.environ.get("TAGSIGHT_CACHE"):
        return Path(own)
    usual = user_cache_path("tagsight", appauthor=False)
    if can_write(usual):
        return usual
    folder = tempfile.mkdtemp(prefix="tagsight-cache-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["TAGSIGHT_CACHE"] = folder
    message = f"the cache {str(usual)!r} cannot be written to, so nothing is cached beyond this run"
    warnings.warn(f"{message}; point TAGSIGHT_CACHE to a folder to keep it", TagsightWarning, stacklevel=2)
    return Path(folder)


def can_write(folder: Path) -> bool:
    """Whether files can be written to a folder, or to the nearest one above it that exists."""
    place = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    return place.is_dir() and os.access(place, os.W_OK | os.X_OK)
