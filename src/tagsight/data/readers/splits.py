"""The choice of a split of a dataset, which is never guessed."""

from collections.abc import Collection as Sized
from pathlib import Path

from tagsight.errors import InputError


def choose_split(path: Path, split: str | None, known: Sized[str]) -> str:
    """The split, if it exists. None is refused, so that nobody trains on test photos by accident."""
    if split is None or split not in known:
        asked = "no split was chosen" if split is None else f"there is no split {split!r}"
        raise InputError(f"{str(path)!r}: {asked}; choose one of {', '.join(known)}")
    return split
