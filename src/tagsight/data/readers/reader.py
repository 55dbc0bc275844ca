"""The interface of a reader: how its format is detected, and how its files become a table of rows."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tagsight.data.collection import Table


class Options(NamedTuple):
    """The options of readers; the field `takes` of a reader names those that it accepts."""

    split: str | None = None
    words: Path | None = None
    images: Path | None = None
    colours: bool = False


class Reader(NamedTuple):
    """One format; `signs` describes to the user the files by which it is detected."""

    signs: str
    fits: Callable[[Path], bool]
    read: Callable[[Path, Options], Table]
    takes: frozenset[str] = frozenset()
