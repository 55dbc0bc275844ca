"""One generation of an index, open for queries: DuckDB over its immutable Parquet files.

Columns of factors asked for lately stay in memory: the highest levels (two bytes a photo), and, from the second time
on, the levels of all regions (two bytes a region) where the index is small enough to hold those of four factors.
Otherwise the levels of the photos that a query needs are read from disk.
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from tagsight.errors import InputError
from tagsight.index.kept import KeptColumns
from tagsight.index.manifest import Manifest, photos_file, regions_file
from tagsight.index.schema import LEVEL, Joined, gather_rows, join_rows, name_levels, name_top
from tagsight.index.words import Words
from tagsight.types import Array, Ints

MEMORY = "128MB"  # that DuckDB may use for a query
TOPS_KEPT = 64 * 2**20  # bytes
LEVELS_KEPT = 96 * 2**20  # bytes
FEWEST_KEPT = 4  # factors
# Files never change, so their footers are read once; few rows are wanted of a column, so it is not fetched ahead.
SETTINGS = ("set global parquet_metadata_cache = true", "set global disable_parquet_prefetching = true")
AMONG = "photo in (select unnest($photos::uinteger[]))"


class PhotoLevels(NamedTuple):
    """Levels of some photos, those of a factor end to end."""

    photos: Ints  # (n,) their numbers
    starts: Ints  # (n + 1,) where each photo's regions begin, and the end of the last
    values: dict[int, Array]  # of each factor, uint16


class UnknownPhotoError(InputError):
    """No photo of the index has this number."""


class Snapshot:
    """A generation and its words. Threads may share it: every query has a cursor of its own."""

    def __init__(self, folder: Path, manifest: Manifest, words: Words, *, n_threads: int):
        self.folder = folder
        self.manifest = manifest
        self.words = words
        self._connection = duckdb.connect(":memory:", config={"threads": n_threads, "memory_limit": MEMORY})
        for setting in SETTINGS:
            self._connection.execute(setting)
        self._lock = threading.Lock()
        self._photos_files = [escape(photos_file(folder, part)) for part in manifest.parts]
        self._regions_files = [escape(regions_file(folder, part)) for part in manifest.parts]
        table = self._read_regions(["photo", f"octet_length({name_levels(0)}) as bytes"])
        stored = table["photo"].to_numpy().astype(np.int64)
        removed = [photo for part in manifest.parts for photo in part.removed]
        self._rows = np.flatnonzero(~np.isin(stored, removed)) if removed else np.arange(len(stored))
        self.photos: Ints = stored[self._rows]  # (I,) the photos that count
        self._starts = np.concatenate([[0], np.cumsum(table["bytes"].to_numpy()[self._rows] // LEVEL.itemsize)])
        self._tops = KeptColumns(TOPS_KEPT)
        self._levels = KeptColumns(LEVELS_KEPT)
        self._asked: set[int] = set()  # factors asked for once since their levels were last kept

    def read_tops(self, factors: Sequence[int]) -> dict[int, Array]:
        """For each factor its highest level in every photo, (I,) uint16 in the order of `photos`."""
        kept = {k: self._tops.find(k) for k in factors}
        missing = [k for k, column in kept.items() if column is None]
        found = {k: column for k, column in kept.items() if column is not None}
        if missing:
            table = self._read_regions([name_top(k) for k in missing])
            for k in missing:
                found[k] = table[name_top(k)].to_numpy()[self._rows]
                self._tops.keep(k, found[k])
        return {k: found[k] for k in kept}

    def read_levels(self, factors: Sequence[int], places: Ints) -> PhotoLevels:
        """Levels of the photos at some places in `photos`, in any order; from disk unless asked for lately."""
        if not self._is_worth_keeping(factors):
            return self.read_levels_of(factors, self.photos[places])
        values: dict[int, Array] = {}
        starts = self._starts
        for k in factors:
            column = self._levels.find(k)
            if column is None:
                whole = join_rows(self._read_regions([name_levels(k)])[name_levels(k)], LEVEL)
                column = (
                    whole.values if len(self._rows) == len(whole.starts) - 1 else gather_rows(whole, self._rows).values
                )
                self._levels.keep(k, column)
            values[k], starts = gather_rows(Joined(column, self._starts), places)
        return PhotoLevels(self.photos[places], starts, values)

    def _is_worth_keeping(self, factors: Sequence[int]) -> bool:
        """Whether every factor is kept, or asked for a second time: reading a whole column once would be slower."""
        if FEWEST_KEPT * LEVEL.itemsize * int(self._starts[-1]) > LEVELS_KEPT:
            return False
        with self._lock:
            unknown = [k for k in factors if self._levels.find(k) is None and k not in self._asked]
            if unknown:
                self._asked.update(unknown)
            else:
                self._asked.difference_update(factors)
            return not unknown

    def read_photos(self, columns: Sequence[str], photos: Ints) -> list[tuple[Any, ...]]:
        """Rows of the photos files, of photos by number, in any order."""
        if not len(photos):
            return []
        with self._open_cursor() as cursor:
            query = f"select {', '.join(columns)} from read_parquet($files) where {AMONG}"
            return cursor.execute(query, {"files": self._photos_files, "photos": photos.tolist()}).fetchall()

    def find_path(self, path: str) -> int | None:
        """The number of the photo with a path, relative to the root."""
        if not self._photos_files:
            return None
        with self._open_cursor() as cursor:
            query = "select photo from read_parquet($files) where path = $path"
            found = cursor.execute(query, {"files": self._photos_files, "path": path}).fetchall()
        return next((photo for (photo,) in found if photo in self.photos), None)

    def read_levels_of(self, factors: Sequence[int], photos: Ints) -> PhotoLevels:
        """Levels of photos by number, in any order, from disk."""
        table = self._read_regions(["photo", *map(name_levels, factors)], f" where {AMONG}", photos=photos.tolist())
        joined = {k: join_rows(table[name_levels(k)], LEVEL) for k in factors}
        starts = joined[factors[0]].starts
        values = {k: column.values for k, column in joined.items()}
        return PhotoLevels(table["photo"].to_numpy().astype(np.int64), starts, values)

    def _read_regions(self, columns: Sequence[str], where: str = "", **values: Any) -> pa.Table:
        if not self._regions_files:
            return pa.table({name.split()[-1]: pa.array([], pa.uint32()) for name in columns})
        with self._open_cursor() as cursor:
            query = f"select {', '.join(columns)} from read_parquet($files){where}"
            return cursor.sql(query, params={"files": self._regions_files, **values}).to_arrow_table()

    def _open_cursor(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            return self._connection.cursor()


def escape(path: Path) -> str:
    """A path in which DuckDB sees no pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))
