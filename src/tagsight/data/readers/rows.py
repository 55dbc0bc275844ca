"""Rows of a table file with one record per photo, for the readers `folder` and `imagefolder`."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tagsight.data.collection import Problem, Row
from tagsight.data.jsonvalues import is_words
from tagsight.data.textfiles import Fault, Record, Records, read_csv, read_jsonl
from tagsight.errors import InputError

READ_BY_SUFFIX: dict[str, Callable[[Path], Records]] = {".csv": read_csv, ".jsonl": read_jsonl}

OTHER_SEPARATOR = re.compile(r"[,|\t\n\r\uff0c\uff1b\u3001]")
"""Wrong separators of tags, instead of a semicolon; the last three are East Asian punctuation."""


class Rows(NamedTuple):
    """The rows that could be read, and the problems of the others."""

    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]


def find_table(path: Path, stem: str) -> Path:
    """The path of ``stem``.csv or ``stem``.jsonl: the path itself, or the one of the two in the folder."""
    if path.is_file():
        return path
    candidates = [path / f"{stem}{suffix}" for suffix in READ_BY_SUFFIX]
    found = [candidate for candidate in candidates if candidate.is_file()]
    if not found:
        raise InputError(f"no {stem}.csv or {stem}.jsonl in {str(path)!r}: add one")
    if len(found) > 1:
        raise InputError(f"{str(path)!r} has both {stem}.csv and {stem}.jsonl: remove one, or give its path")
    return found[0]


def is_table(path: Path, stem: str) -> bool:
    """Whether the path is ``stem``.csv or ``stem``.jsonl, or a folder with one of them."""
    names = {f"{stem}{suffix}" for suffix in READ_BY_SUFFIX}
    return path.name in names if path.is_file() else any((path / name).is_file() for name in names)


def read_records(path: Path) -> Records:
    """Read a table file as CSV or JSON lines, by its suffix."""
    if path.suffix.lower() not in READ_BY_SUFFIX:
        raise InputError(f"{str(path)!r} is neither .csv nor .jsonl: convert it to one of the two")
    return READ_BY_SUFFIX[path.suffix.lower()](path)


def make_rows(source: Path, table: Records, make_row: Callable[[Record], Row]) -> Rows:
    """A row of every record; a record that `make_row` refuses becomes a problem."""
    rows: list[Row] = []
    faults: list[Fault] = list(table.faults)
    for record in table.records:
        try:
            rows.append(make_row(record))
        except InputError as error:
            faults.append(Fault(record.where, str(error)))
    return Rows(tuple(rows), report_faults(source, faults))


def report_faults(source: Path, faults: Iterable[Fault]) -> tuple[Problem, ...]:
    """The problems of the lines that could not be read."""
    return tuple(Problem(source, f"{fault.where}: {fault.reason}") for fault in faults)


def read_image(record: Record, key: str) -> str:
    """The name of the photo in a record."""
    image = record.values.get(key)
    if not isinstance(image, str) or not image.strip():
        raise InputError(f"{key!r} is {image!r}, not the name of a photo")
    return image


def read_tags(record: Record, key: str) -> tuple[str, ...]:
    """The tags in a record: a JSON list of strings, or one string separated by semicolons."""
    value: Any = record.values.get(key)
    if value is None:
        return ()
    if isinstance(value, str):
        return _split_tags(value, key)
    if is_words(value):
        return tuple(value)
    raise InputError(f"{key!r} is {value!r}, not a list of words")


def _split_tags(text: str, key: str) -> tuple[str, ...]:
    """The tags in a text; InputError for another separator, since "cat, dog" would be one tag."""
    if OTHER_SEPARATOR.search(text.strip()):
        raise InputError(
            f"{key!r} is {text!r}: separate tags by ';' (a tag that contains another separator needs a .jsonl file)"
        )
    return tuple(text.split(";"))
