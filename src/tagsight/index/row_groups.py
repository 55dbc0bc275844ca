"""Parquet files read by row group.

DuckDB holds a page of every column that a query names, about 1 MiB each, until the query ends: 100 MB for one photo
with 100 factors. Here a few columns of one row group are decoded at a time.
"""

import threading
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = 8  # decoded at the same time for one row


class _Group(NamedTuple):
    file: Path
    metadata: pq.FileMetaData
    number: int  # of the row group in the file


class RowGroups:
    """Files that never change, their rows counted through all of them."""

    def __init__(self, files: Sequence[Path]):
        self._files = files
        self._lock = threading.Lock()
        self._groups: list[_Group] = []
        self._starts: list[int] = []

    @property
    def starts(self) -> Sequence[int]:
        """The first row of each row group."""
        with self._lock:
            if not self._groups:
                self._list_groups()
        return self._starts

    def read_group(self, place: int, columns: Sequence[str]) -> pa.Table:
        """Columns of one row group."""
        group = self._groups[place]
        with pq.ParquetFile(group.file, metadata=group.metadata) as file:
            return file.read_row_group(group.number, columns=list(columns), use_threads=False)

    def read_row(self, row: int, columns: Sequence[str]) -> list[bytes]:
        """The values of binary columns in one row."""
        place = bisect_right(self.starts, row) - 1
        values: list[bytes] = []
        for start in range(0, len(columns), COLUMNS):
            some = columns[start : start + COLUMNS]
            table = self.read_group(place, some)
            values += [table[name][row - self._starts[place]].as_py() for name in some]
        return values

    def _list_groups(self) -> None:
        groups: list[_Group] = []
        starts = [0]
        for file in self._files:
            metadata = pq.read_metadata(file)
            for number in range(metadata.num_row_groups):
                groups.append(_Group(file, metadata, number))
                starts.append(starts[-1] + metadata.row_group(number).num_rows)
        self._groups, self._starts = groups, starts[:-1]
