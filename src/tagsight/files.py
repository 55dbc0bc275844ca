"""Files that appear whole or not at all, and where tagsight keeps what it can make again."""

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tagsight.errors import InputError


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file that a crash leaves as it was before, or complete."""
    with replace_file(path) as file:
        file.write(content)


@contextmanager
def replace_file(path: Path) -> Generator[BinaryIO]:
    """A new file to write; it takes the place of `path` when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.parent / f".partial-{secrets.token_hex(8)}"
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def read_bytes(path: Path) -> bytes:
    """The content of a file that the user named."""
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InputError(f"cannot read {str(path)!r}: {problem.strerror or problem}") from problem


def locate_cache() -> Path:
    """$TAGSIGHT_CACHE, or tagsight in $XDG_CACHE_HOME or ~/.cache."""
    if own := os.environ.get("TAGSIGHT_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tagsight"
