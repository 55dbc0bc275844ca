"""Text files of users: UTF-8, CSV and JSON lines.

A file with a wrong encoding or header raises an InputError. A line that cannot be read is returned as a `Fault`, so
that the caller can report it and use the other lines.
"""

import csv
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

from tagsight.data.jsonvalues import is_object
from tagsight.errors import InputError

_CELL_LIMIT = 1 << 24


class Record(NamedTuple):
    """The values of one line by column name; `where` is its place, such as "line 7"."""

    where: str
    values: dict[str, Any]


class Fault(NamedTuple):
    """A line that could not be read."""

    where: str
    reason: str


class Records(NamedTuple):
    """The content of a table file; `columns` are in the order of their first appearance."""

    columns: tuple[str, ...]
    records: tuple[Record, ...]
    faults: tuple[Fault, ...]


def read_text(path: Path) -> str:
    """Read a whole UTF-8 file, with or without a byte order mark."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{str(path)!r} is not UTF-8 text (byte 0x{raw[error.start]:02X} on line {line}): save it as UTF-8"
        ) from error


def read_json(path: Path) -> Any:
    """Read a whole JSON file."""
    text = read_text(path)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is not valid JSON: {error}") from error


def read_csv(path: Path) -> Records:
    """Read a CSV file with a header line; column names are trimmed and case-folded.

    A quote that is never closed would hide the rest of the file, so it raises an InputError.
    """
    return parse_csv(path, read_text(path))


def parse_csv(path: Path, text: str) -> Records:
    """The content of a CSV file from its text without a byte order mark; `path` is for messages."""
    csv.field_size_limit(_CELL_LIMIT)
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns: tuple[str, ...] = ()
    records: list[Record] = []
    faults: list[Fault] = []
    while True:
        where = f"line {lines.line_num + 1}"
        try:
            cells = next(lines)
        except StopIteration:
            break
        except csv.Error as error:
            if "unexpected end" in str(error):
                raise InputError(
                    f"{str(path)!r}: a quote opened on {where} is never closed: close or remove it"
                ) from error
            faults.append(Fault(where, str(error)))
            continue
        if not any(cell.strip() for cell in cells):
            continue
        if not columns:
            columns = _read_header(path, cells)
        elif len(cells) != len(columns):
            faults.append(Fault(where, f"{len(cells)} cells where the header has {len(columns)}"))
        else:
            records.append(Record(where, dict(zip(columns, cells, strict=True))))
    if not columns:
        raise InputError(f"{str(path)!r} is empty: its first line must name the columns")
    return Records(columns, tuple(records), tuple(faults))


def _read_header(path: Path, cells: list[str]) -> tuple[str, ...]:
    columns = tuple(cell.strip().casefold() for cell in cells)
    if len(set(columns)) < len(columns):
        raise InputError(f"{str(path)!r} names a column twice ({', '.join(columns)}): keep one of each")
    return columns


def read_jsonl(path: Path) -> Records:
    """Read a file with one JSON object per line."""
    return parse_jsonl(read_text(path))


def parse_jsonl(text: str) -> Records:
    """The content of a JSON lines file from its text without a byte order mark."""
    columns: dict[str, None] = {}
    records: list[Record] = []
    faults: list[Fault] = []
    # JSON strings may have U+2028 and similar characters unescaped: only a newline ends a line.
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"line {number}"
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            faults.append(Fault(where, f"not valid JSON: {error}"))
            continue
        if not is_object(values):
            faults.append(Fault(where, "not a JSON object {...}"))
            continue
        columns.update(dict.fromkeys(values))
        records.append(Record(where, values))
    return Records(tuple(columns), tuple(records), tuple(faults))
