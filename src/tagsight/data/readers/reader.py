"""What every reader is: how its layout is recognised, and how it becomes a table of rows."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tagsight.data.collection import Table


class Options(NamedTuple):
    """What a caller may ask of a reader; each reader says in ``takes`` which of these it understands."""

    split: str | None = None
    words: Path | None = None
    images: Path | None = None
    colours: bool = False


class Reader(NamedTuple):
    """One format. ``signs`` tells a user, in words, what in a folder makes it this format."""

    signs: str
    fits: Callable[[Path], bool]
    read: Callable[[Path, Options], Table]
    takes: frozenset[str] = frozenset()
