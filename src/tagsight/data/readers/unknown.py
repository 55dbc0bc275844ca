"""Keywords that are not in a word list: reported once, not once per photo."""

from collections.abc import Collection as Sized
from pathlib import Path

from tagsight.data.collection import Problem

_SHOWN = 10


def report_unknown(wordlist: Path, words: Sized[str]) -> tuple[Problem, ...]:
    """Report the words that were left out because the word list lacks them."""
    if not words:
        return ()
    ordered = sorted(words)
    shown = ", ".join(map(repr, ordered[:_SHOWN])) + (", ..." if len(ordered) > _SHOWN else "")
    return (Problem(wordlist, f"{len(ordered)} keywords are not in the word list and are left out: {shown}"),)
