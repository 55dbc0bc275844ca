"""The rows of a tags file with the places of their tags, and the interface that CSV and JSON lines share."""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Protocol

from tagsight.data.readers.rows import OTHER_SEPARATOR
from tagsight.data.tag_changes import Kind
from tagsight.data.vocabulary import normalise_tag
from tagsight.errors import InputError
from tagsight.storage.edits import Edit

COLUMN_OF: dict[Kind, str] = {"object": "objects", "attribute": "attributes"}

_SPACED = re.compile(r"[^;\s]\s*;(\s+)[^;\s]")


class TagRow(NamedTuple):
    """A row of a tags file; `problem` is the reason why its tags cannot be read, and then it has none."""

    number: int  # index among the rows of the file
    image: str
    where: str
    tags: Mapping[Kind, tuple[str, ...]]  # as written
    problem: str | None = None


class NewRow(NamedTuple):
    """The tags of a photo that the file does not list."""

    image: str
    tags: Mapping[Kind, Sequence[str]]


class TagsTable(Protocol):
    """A tags file whose rows can be edited."""

    @property
    def rows(self) -> Sequence[TagRow]:
        """All rows that name a photo, in the order of the file."""
        ...

    def check_word(self, word: str, kind: Kind, row: TagRow | None) -> None:
        """Raise InputError unless a word can be written into a row, or into a new one if `row` is None."""
        ...

    def edit_row(self, row: TagRow, kind: Kind, removed: AbstractSet[str], added: Sequence[str]) -> Edit:
        """The edit of a row without the tags in `removed` (normalised) and with the words in `added`."""
        ...

    def append_rows(self, rows: Iterable[NewRow]) -> Edit:
        """The edit that appends rows to the file."""
        ...


def check_separators(word: str, file: str) -> None:
    """Raise InputError for a word that readers would take for several tags in a text separated by semicolons."""
    if ";" in word or OTHER_SEPARATOR.search(word):
        raise InputError(f"{word!r} has a character that separates tags in {file}: choose another word, or use JSON")


def edit_list(text: str, removed: AbstractSet[str], added: Sequence[str]) -> str:
    """A text of tags separated by semicolons, without the tags in `removed` and with the words in `added`.

    The spelling and the spaces of the other tags are kept; new tags are spaced as they are.
    """
    spaced = _SPACED.search(text)
    space = spaced[1] if spaced else ""
    parts = text.split(";")
    kept = [part for part in parts if normalise_tag(part) not in removed or not part.strip()]
    if kept and kept[0] is not parts[0]:
        kept[0] = kept[0].lstrip()
    if not added:
        return ";".join(kept)
    words = list(added)
    tail = ""
    if kept and not kept[-1].strip():
        tail = kept.pop()
    elif kept:
        stripped = kept[-1].rstrip()
        kept[-1], tail = stripped, kept[-1][len(stripped) :]
    spaces = ["" if n == 0 and not kept else space for n in range(len(words))]
    return ";".join([*kept, *(before + word for before, word in zip(spaces, words, strict=True))]) + tail
