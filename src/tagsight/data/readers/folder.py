"""A folder of photos with ``tags.csv`` or ``tags.jsonl``, the format of tagsight.

``tags.csv`` has the columns ``image``, ``objects`` and ``attributes`` in any order; the items of a list are separated
by ``;``. ``tags.jsonl`` has one object per line with the same keys and JSON lists. One of ``objects`` and
``attributes`` may be absent. Image names are relative to the folder of the file.
"""

from collections.abc import Sequence
from pathlib import Path

from tagsight.data.collection import Problem, Row, Table
from tagsight.data.readers.reader import Options, Reader
from tagsight.data.readers.rows import find_table, is_table, make_rows, read_image, read_records, read_tags
from tagsight.data.textfiles import Record
from tagsight.errors import InputError

COLUMNS = ("image", "objects", "attributes")


def read(path: Path, options: Options) -> Table:
    """Read the tags file of a folder."""
    del options
    source = find_table(path, "tags")
    table = read_records(source)
    check_columns(source, table.columns)
    rows = make_rows(source, table, _make_row)
    ignored = tuple(
        Problem(source, f"column {column!r} is not read; only {', '.join(COLUMNS)} are")
        for column in table.columns
        if column not in COLUMNS
    )
    return Table(source, source.parent, rows.rows, problems=ignored + rows.problems)


def check_columns(source: Path, columns: Sequence[str]) -> None:
    """Raise InputError unless the columns of a tags file are sufficient; a file without any record has none."""
    if columns and ("image" not in columns or not {"objects", "attributes"} & set(columns)):
        raise InputError(
            f"{str(source)!r} has the columns {', '.join(map(repr, columns))}: it must have {','.join(COLUMNS)}"
        )


def _make_row(record: Record) -> Row:
    return Row(
        read_image(record, "image"),
        read_tags(record, "objects"),
        read_tags(record, "attributes"),
        record.where,
    )


def _fits(path: Path) -> bool:
    return is_table(path, "tags")


READER = Reader("tags.csv or tags.jsonl", _fits, read)
