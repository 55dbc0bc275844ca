"""The cells of a `tags.csv` with their places in the text, so that one cell can be replaced and no other byte."""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple

from tagsight.data.readers.folder import check_columns
from tagsight.data.readers.rows import read_tags
from tagsight.data.tag_changes import Kind
from tagsight.data.textfiles import Record, parse_csv
from tagsight.data.writers.rows import COLUMN_OF, NewRow, TagRow, check_separators, edit_list
from tagsight.errors import InputError
from tagsight.storage.edits import Edit

HEADER = "image,objects,attributes\n"
"""The first line of a new file."""

_NEWLINE = re.compile(r"\r\n|\n|\r")
_QUOTED = re.compile(r'"([^"]*(?:""[^"]*)*)"')
_PLAIN = re.compile(r"[^,\r\n]*")
_REST = re.compile(r"[^\r\n]*")


class _Cell(NamedTuple):
    start: int
    end: int
    value: str
    quoted: bool


class _Line(NamedTuple):
    where: str
    cells: tuple[_Cell, ...]


class CsvTags:
    """A `tags.csv` as `TagsTable`; `text` may begin with a byte order mark."""

    def __init__(self, path: Path, text: str):
        lines = _split_lines(text)
        self._text = text
        self._columns = [cell.value.strip().casefold() for cell in lines[0].cells] if lines else []
        records = parse_csv(path, text.removeprefix("\ufeff"))
        check_columns(path, records.columns)
        self._lines = [line for line in lines[1:] if len(line.cells) == len(self._columns)]
        self._check_places(path, records.records)
        self._image = self._columns.index("image")
        broken = [line for line in lines[1:] if self._image < len(line.cells) != len(self._columns)]
        self.rows = [
            *(self._read_row(number, line) for number, line in enumerate(self._lines)),
            *(self._report_row(line) for line in broken),
        ]

    def check_word(self, word: str, kind: Kind, row: TagRow | None) -> None:
        """As in `TagsTable`."""
        del row
        if COLUMN_OF[kind] not in self._columns:
            raise InputError(f"the file has no column {COLUMN_OF[kind]!r} for {word!r}: add one to its lines")
        check_separators(word, "tags.csv")

    def edit_row(self, row: TagRow, kind: Kind, removed: AbstractSet[str], added: Sequence[str]) -> Edit:
        """As in `TagsTable`."""
        cell = self._lines[row.number].cells[self._columns.index(COLUMN_OF[kind])]
        return Edit(cell.start, cell.end, _quote(edit_list(cell.value, removed, added), cell.quoted))

    def append_rows(self, rows: Iterable[NewRow]) -> Edit:
        """As in `TagsTable`; new rows are quoted and ended as the others are."""
        found = _NEWLINE.search(self._text)
        newline = found[0] if found else "\n"
        quoted = [bool(self._lines) and all(line.cells[n].quoted for line in self._lines) for n in range(self._width)]
        added = [self._format_row(row, quoted) for row in rows]
        end = len(self._text)
        if self._text.endswith(("\n", "\r")):
            return Edit(end, end, "".join(line + newline for line in added))
        return Edit(end, end, "".join(newline + line for line in added))

    def _format_row(self, row: NewRow, quoted: Sequence[bool]) -> str:
        values = {"image": row.image} | {COLUMN_OF[kind]: ";".join(words) for kind, words in row.tags.items()}
        return ",".join(_quote(values.get(name, ""), quoted[n]) for n, name in enumerate(self._columns))

    @property
    def _width(self) -> int:
        return len(self._columns)

    def _check_places(self, path: Path, records: Sequence[Record]) -> None:
        """Raise InputError unless the places found here hold the values that the CSV library reads."""
        found = [dict(zip(self._columns, (cell.value for cell in line.cells), strict=True)) for line in self._lines]
        if found != [record.values for record in records]:
            raise InputError(f"{str(path)!r} is quoted in an unusual way: save it again with a spreadsheet program")

    def _read_row(self, number: int, line: _Line) -> TagRow:
        values = {name: cell.value for name, cell in zip(self._columns, line.cells, strict=True)}
        record = Record(line.where, values)
        try:
            tags: dict[Kind, tuple[str, ...]] = {
                kind: read_tags(record, column) for kind, column in COLUMN_OF.items() if column in values
            }
        except InputError as error:
            return TagRow(number, values["image"], line.where, {}, str(error))
        return TagRow(number, values["image"], line.where, tags)

    def _report_row(self, line: _Line) -> TagRow:
        reason = f"{len(line.cells)} cells where the header has {self._width}"
        return TagRow(-1, line.cells[self._image].value, line.where, {}, reason)


def _quote(value: str, always: bool) -> str:
    if always or any(one in value for one in ',"\r\n'):
        return '"{}"'.format(value.replace('"', '""'))
    return value


def _split_lines(text: str) -> list[_Line]:
    """The lines that are neither blank nor broken, by the rules of the excel dialect of the CSV library."""
    lines: list[_Line] = []
    place = 1 if text.startswith("\ufeff") else 0
    number = 1
    while place < len(text):
        cells = tuple(_split_cells(text, place))
        end = cells[-1].end
        broken = end < len(text) and text[end] not in "\r\n"
        if broken:  # characters after a closing quote: the library skips the rest of the line
            end = _end_of(_REST, text, end)
        elif any(cell.value.strip() for cell in cells):
            lines.append(_Line(f"line {number}", cells))
        newline = _NEWLINE.match(text, end)
        following = newline.end() if newline else end
        number += len(_NEWLINE.findall(text, place, following))
        place = following
    return lines


def _split_cells(text: str, place: int) -> Iterator[_Cell]:
    """The cells from `place` to the end of the line, or to a cell that is not followed by a comma."""
    while True:
        if text.startswith('"', place):
            quoted = _QUOTED.match(text, place)
            if quoted is None:
                raise InputError("a quote is never closed: close or remove it")
            cell = _Cell(place, quoted.end(), quoted[1].replace('""', '"'), True)
        else:
            end = _end_of(_PLAIN, text, place)
            cell = _Cell(place, end, text[place:end], False)
        yield cell
        if not text.startswith(",", cell.end):
            return
        place = cell.end + 1


def _end_of(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return place if found is None else found.end()
