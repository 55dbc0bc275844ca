"""The values of a `tags.jsonl` with their places in the text, so that one list can be replaced and no other byte."""

import json
import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tagsight.data.readers.folder import check_columns
from tagsight.data.readers.rows import read_image, read_tags
from tagsight.data.tag_changes import Kind
from tagsight.data.textfiles import Record, parse_jsonl
from tagsight.data.vocabulary import normalise_tag
from tagsight.data.writers.rows import COLUMN_OF, NewRow, TagRow, check_separators, edit_list
from tagsight.errors import InputError
from tagsight.storage.edits import Edit

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class _Span(NamedTuple):
    start: int
    end: int


class _Object(NamedTuple):
    members: dict[str, _Span]  # the places of the values
    comma: str | None  # with the space after it, None if there is one member
    colon: str  # with the space after it
    end: int  # of the last value, or of the opening brace


class JsonlTags:
    """A `tags.jsonl` as `TagsTable`; `text` may begin with a byte order mark."""

    def __init__(self, path: Path, text: str):
        self._text = text
        records = parse_jsonl(text.removeprefix("\ufeff"))
        check_columns(path, records.columns)
        starts = _find_starts(text)
        self._objects: list[_Object] = []
        self.rows: list[TagRow] = []
        for record in records.records:
            self._objects.append(_locate_members(text, starts[record.where]))
            row = self._read_row(len(self._objects) - 1, record)
            if row is not None:
                self.rows.append(row)
        self._comma = next((one.comma for one in self._objects if one.comma), ", ")
        self._colon = self._objects[0].colon if self._objects else ": "
        self._ascii = text.isascii() and "\\u" in text

    def check_word(self, word: str, kind: Kind, row: TagRow | None) -> None:
        """As in `TagsTable`."""
        value = None if row is None else self._objects[row.number].members.get(COLUMN_OF[kind])
        if value is not None and self._text.startswith('"', value.start):
            check_separators(word, "this row, whose tags are one text")

    def edit_row(self, row: TagRow, kind: Kind, removed: AbstractSet[str], added: Sequence[str]) -> Edit:
        """As in `TagsTable`; a missing list is added after the last value."""
        found = self._objects[row.number]
        value = found.members.get(COLUMN_OF[kind])
        if value is None:
            member = f"{self._dump(COLUMN_OF[kind])}{self._colon}{self._dump_list(added)}"
            return Edit(found.end, found.end, (self._comma if found.members else "") + member)
        text = self._text[value.start : value.end]
        if text.startswith('"'):
            new = self._dump(edit_list(json.loads(text), removed, added))
        elif text.startswith("["):
            new = self._edit_items(value, removed, added)
        else:
            new = self._dump_list(added)
        return Edit(value.start, value.end, new)

    def append_rows(self, rows: Iterable[NewRow]) -> Edit:
        """As in `TagsTable`; new rows are spaced and ended as the others are."""
        newline = "\r\n" if "\r\n" in self._text else "\n"
        lines: list[str] = []
        for row in rows:
            values = [("image", self._dump(row.image))]
            values += [(COLUMN_OF[kind], self._dump_list(words)) for kind, words in row.tags.items()]
            lines.append(
                "{" + self._comma.join(f"{self._dump(key)}{self._colon}{value}" for key, value in values) + "}"
            )
        end = len(self._text)
        if not self._text.removeprefix("\ufeff") or self._text.endswith("\n"):
            return Edit(end, end, "".join(line + newline for line in lines))
        return Edit(end, end, "".join(newline + line for line in lines))

    def _read_row(self, number: int, record: Record) -> TagRow | None:
        """The row of a record; None if it names no photo."""
        try:
            image = read_image(record, "image")
        except InputError:
            return None
        try:
            tags: dict[Kind, tuple[str, ...]] = {kind: read_tags(record, column) for kind, column in COLUMN_OF.items()}
        except InputError as error:
            return TagRow(number, image, record.where, {}, str(error))
        return TagRow(number, image, record.where, tags)

    def _edit_items(self, value: _Span, removed: AbstractSet[str], added: Sequence[str]) -> str:
        """The text of a list without and with some items; kept items and the spaces before them are unchanged."""
        items = _locate_items(self._text, value.start)
        texts = [self._text[item.start : item.end] for item in items]
        gaps = [self._text[one.end : other.start] for one, other in pairwise(items)]
        kept = [n for n, text in enumerate(texts) if normalise_tag(json.loads(text)) not in removed]
        new = [self._dump(word) for word in added]
        if not kept and not new:
            return "[]"
        pieces = [text for n in kept for text in (gaps[n - 1] if n != kept[0] else "", texts[n])]
        gap = gaps[-1] if gaps else self._comma
        for n, word in enumerate(new):
            pieces += [gap if kept or n else "", word]
        first, last = (items[0].start, items[-1].end) if items else (value.start + 1, value.end - 1)
        return self._text[value.start : first] + "".join(pieces) + self._text[last : value.end]

    def _dump(self, word: str) -> str:
        encodable = not any("\ud800" <= one <= "\udfff" for one in word)
        return json.dumps(word, ensure_ascii=self._ascii or not encodable)

    def _dump_list(self, words: Sequence[str]) -> str:
        return f"[{self._comma.join(map(self._dump, words))}]"


def _find_starts(text: str) -> dict[str, int]:
    """The place of each line by its name in messages."""
    starts: dict[str, int] = {}
    place = 1 if text.startswith("\ufeff") else 0
    for number, line in enumerate(text[place:].split("\n"), start=1):
        starts[f"line {number}"] = place
        place += len(line) + 1
    return starts


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return place if found is None else found.end()


def _end_value(text: str, place: int) -> int:
    return _DECODER.raw_decode(text, place)[1]


def _locate_members(text: str, start: int) -> _Object:
    """The places of the values of a valid JSON object; of equal keys the last counts, as for the JSON library."""
    members: dict[str, _Span] = {}
    comma, colon = None, ": "
    end = _skip(text, start) + 1
    place = _skip(text, end)
    while text[place] != "}":
        if text[place] == ",":
            following = _skip(text, place + 1)
            comma, place = comma or text[end:following], following
        key, after = _DECODER.raw_decode(text, place)
        begin = _skip(text, _skip(text, after) + 1)
        colon = text[after:begin]
        end = _end_value(text, begin)
        members[key] = _Span(begin, end)
        place = _skip(text, end)
    return _Object(members, comma, colon, end)


def _locate_items(text: str, start: int) -> list[_Span]:
    """The places of the items of a valid JSON list."""
    items: list[_Span] = []
    place = _skip(text, start + 1)
    while text[place] != "]":
        if text[place] == ",":
            place = _skip(text, place + 1)
        end = _end_value(text, place)
        items.append(_Span(place, end))
        place = _skip(text, end)
    return items
