"""The interface of a reader: how its format is detected, and how its files become a table of rows.

Readers share the choice of a split and the report of unknown keywords.
"""

from collections.abc import Callable
from collections.abc import Collection as Sized
from pathlib import Path
from typing import NamedTuple

from tagsight.data.collection import Problem, Table
from tagsight.errors import InputError

_SHOWN = 10  # unknown keywords in a message


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


def choose_split(path: Path, split: str | None, known: Sized[str]) -> str:
    """The split, if it exists. None is refused, so that nobody trains on test photos by accident."""
    if split is None or split not in known:
        asked = "no split was chosen" if split is None else f"there is no split {split!r}"
        raise InputError(f"{str(path)!r}: {asked}; choose one of {', '.join(known)}")
    return split


def report_unknown(wordlist: Path, words: Sized[str]) -> tuple[Problem, ...]:
    """Report the words that were left out because the word list lacks them."""
    if not words:
        return ()
    ordered = sorted(words)
    shown = ", ".join(map(repr, ordered[:_SHOWN])) + (", ..." if len(ordered) > _SHOWN else "")
    return (Problem(wordlist, f"{len(ordered)} keywords are not in the word list and are left out: {shown}"),)
