"""One generation of an index, open for queries: DuckDB over its immutable Parquet files.

Columns of factors asked for lately stay in memory: the highest levels (two bytes a photo), and, from the second time
on, the levels of all regions (two bytes a region) where the index is small enough to hold those of four factors.
Otherwise the levels of the photos that a query needs are read from disk. What was last read of single photos and for
the last searches stays in memory too, so that the same search, and its outlines, read nothing again.

At most READERS queries run at the same time, each over at most COLUMNS columns of levels; others wait. DuckDB holds a
page of each column in each thread, so that READERS x threads x COLUMNS pages bound the memory that it needs. At most
SCANS comparisons with every region run besides; they read row groups without DuckDB.
"""

import threading
import weakref
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from tagsight.index.cached_values import CachedValues
from tagsight.index.deadline import check_deadline, hold_slot
from tagsight.index.manifest import Manifest, photos_file, regions_file
from tagsight.index.part_check import check_parts
from tagsight.index.row_groups import RowGroups
from tagsight.index.schema import Joined, gather_rows, join_rows, name_levels, name_top
from tagsight.index.words import Words
from tagsight.predict.levels import LEVEL
from tagsight.types import Array, Ints

LEAST_MEMORY = 128 * 2**20  # bytes that DuckDB may use
READERS = 4  # queries that read at the same time
SCANS = 2  # comparisons with every region of the index at the same time
COLUMNS = 8  # of levels that a query reads at the same time
PAGE = 2**20  # bytes after which pyarrow ends a page, at the next multiple of PAGE_ROWS rows
PAGE_ROWS = 1024
TOPS_KEPT = 64 * 2**20  # bytes
LEVELS_KEPT = 96 * 2**20  # bytes
READ_KEPT = 32 * 2**20  # bytes
FEWEST_KEPT = 4  # factors
# Files never change, so their footers are read once; few rows are wanted of a column, so it is not fetched ahead.
SETTINGS = ("set global parquet_metadata_cache = true", "set global disable_parquet_prefetching = true")
AMONG = "photo in (select unnest($photos::uinteger[]))"


class PhotoLevels(NamedTuple):
    """Levels of some photos, those of a factor end to end."""

    photos: Ints  # (n,) their numbers
    starts: Ints  # (n + 1,) where each photo's regions begin, and the end of the last
    values: dict[int, Array]  # of each factor, uint16


class Snapshot:
    """A generation and its words. Threads may share it: every query has a cursor of its own."""

    def __init__(self, folder: Path, manifest: Manifest, words: Words, *, n_threads: int):
        self.folder = folder
        self.manifest = manifest
        self.words = words
        check_parts(folder, manifest)
        connection = duckdb.connect(":memory:", config={"threads": n_threads, "autoinstall_known_extensions": False})
        for setting in SETTINGS:
            connection.execute(setting)
        # FastAPI's caches keep the handlers of an app, and so the index, until the process ends; DuckDB reports a
        # connection that is left then as a leak. A finalizer also runs when the process ends.
        self._connections = [connection]
        weakref.finalize(self, self._connections.clear)
        self._limit_memory(LEAST_MEMORY)
        self._lock = threading.Lock()
        self._reading = threading.BoundedSemaphore(READERS)
        self.scans = threading.BoundedSemaphore(SCANS)
        self._photos_files = [escape(photos_file(folder, part)) for part in manifest.parts]
        self._regions_files = [escape(regions_file(folder, part)) for part in manifest.parts]
        self._row_groups = RowGroups([regions_file(folder, part) for part in manifest.parts])
        table = self._read_regions(["photo", f"octet_length({name_levels(0)}) as bytes"])
        stored = table["photo"].to_numpy().astype(np.int64)
        removed = [photo for part in manifest.parts for photo in part.removed]
        self._rows = np.flatnonzero(~np.isin(stored, removed)) if removed else np.arange(len(stored))
        self.photos: Ints = stored[self._rows]  # (I,) the photos that count
        self._starts = np.concatenate([[0], np.cumsum(table["bytes"].to_numpy()[self._rows] // LEVEL.itemsize)])
        widest = int(np.diff(self._starts).max(initial=0)) * LEVEL.itemsize
        self._limit_memory(max(LEAST_MEMORY, READERS * n_threads * COLUMNS * (PAGE + PAGE_ROWS * widest)))
        self._tops: CachedValues[Array] = CachedValues(TOPS_KEPT)
        self._levels: CachedValues[Array] = CachedValues(LEVELS_KEPT)
        self._read: CachedValues[Any] = CachedValues(READ_KEPT)
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
                self._tops.keep(k, found[k], found[k].nbytes)
        return {k: found[k] for k in kept}

    def read_levels(self, factors: Sequence[int], places: Ints) -> PhotoLevels:
        """Levels of the photos at some places in `photos`, in any order; from disk unless asked for lately."""
        check_deadline()
        key = (tuple(factors), places.tobytes())
        before = self.recall(key)
        if before is not None:
            return before
        if not self._is_worth_keeping(factors):
            levels = self.read_levels_of(factors, self.photos[places])
            self.remember(key, levels, places.nbytes + sum(column.nbytes for column in levels.values.values()))
            return levels
        values: dict[int, Array] = {}
        starts = self._starts
        for k in factors:
            column = self._levels.find(k)
            if column is None:
                whole = join_rows(self._read_regions([name_levels(k)])[name_levels(k)], LEVEL)
                column = (
                    whole.values if len(self._rows) == len(whole.starts) - 1 else gather_rows(whole, self._rows).values
                )
                self._levels.keep(k, column, column.nbytes)
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

    def read_photo_levels(self, factors: Sequence[int], photo: int) -> Array:
        """(R, len(factors)) levels of one photo that is in the index, by number."""
        key = (tuple(factors), photo)
        levels = self.recall(key)
        if levels is None:
            row = int(self._rows[np.flatnonzero(self.photos == photo)[0]])
            with hold_slot(self._reading):
                columns = self._row_groups.read_row(row, [name_levels(k) for k in factors])
            levels = np.stack([np.frombuffer(column, LEVEL) for column in columns], axis=1)
            self.remember(key, levels, levels.nbytes)
        return levels

    def list_blocks(self) -> list[slice]:
        """The photos that are stored together in a row group, as places in `photos`."""
        edges = np.searchsorted(self._rows, [*self._row_groups.starts, self._rows[-1] + 1 if len(self._rows) else 0])
        return [slice(a, b) for a, b in pairwise(edges.tolist())]

    def read_block(self, block: int, factors: Sequence[int]) -> PhotoLevels:
        """Levels of the photos of a block, by its place in `list_blocks`, in their order in `photos`."""
        check_deadline()
        table = self._row_groups.read_group(block, [name_levels(k) for k in factors])
        places = self.list_blocks()[block]
        rows = self._rows[places] - self._row_groups.starts[block]
        joined = {k: join_rows(table[name_levels(k)], LEVEL) for k in factors}
        if len(rows) < len(table):
            joined = {k: gather_rows(column, rows) for k, column in joined.items()}
        starts = joined[factors[0]].starts
        return PhotoLevels(self.photos[places], starts, {k: column.values for k, column in joined.items()})

    def read_photos(self, columns: Sequence[str], photos: Ints) -> list[tuple[Any, ...]]:
        """Rows of the photos files, of photos by number, in any order."""
        if not len(photos):
            return []
        key = (tuple(columns), photos.tobytes())
        rows = self.recall(key)
        if rows is None:
            with self._open_cursor() as cursor:
                query = f"select {', '.join(columns)} from read_parquet($files) where {AMONG}"
                rows = cursor.execute(query, {"files": self._photos_files, "photos": photos.tolist()}).fetchall()
            self.remember(key, rows, photos.nbytes + sum(map(estimate_bytes, rows)))
        return rows

    def recall(self, key: Hashable) -> Any:
        """What was remembered under a key, or None."""
        return self._read.find(key)

    def remember(self, key: Hashable, value: Any, n_bytes: int) -> None:
        """Keep what was read or computed of this generation, unless it is so large that few others would stay."""
        if n_bytes <= READ_KEPT // 16:
            self._read.keep(key, value, n_bytes)

    def find_path(self, path: str) -> int | None:
        """The number of the photo with a path, relative to the root."""
        if not self._photos_files:
            return None
        with self._open_cursor() as cursor:
            query = "select photo from read_parquet($files) where path = $path"
            found = cursor.execute(query, {"files": self._photos_files, "path": path}).fetchall()
        return next((photo for (photo,) in found if photo in self.photos), None)

    def read_levels_of(self, factors: Sequence[int], photos: Ints) -> PhotoLevels:
        """Levels of photos by number, in the order in which they are stored, from disk."""
        numbers = starts = np.empty(0, np.int64)
        values: dict[int, Array] = {}
        for start in range(0, len(factors), COLUMNS):
            some = factors[start : start + COLUMNS]
            table = self._read_regions(["photo", *map(name_levels, some)], f" where {AMONG}", photos=photos.tolist())
            numbers = table["photo"].to_numpy().astype(np.int64)
            joined = {k: join_rows(table[name_levels(k)], LEVEL) for k in some}
            starts = joined[some[0]].starts
            values |= {k: column.values for k, column in joined.items()}
        return PhotoLevels(numbers, starts, values)

    def _read_regions(self, columns: Sequence[str], where: str = "", **values: Any) -> pa.Table:
        if not self._regions_files:
            return pa.table({name.split()[-1]: pa.array([], pa.uint32()) for name in columns})
        with self._open_cursor() as cursor:
            query = f"select {', '.join(columns)} from read_parquet($files){where}"
            return cursor.sql(query, params={"files": self._regions_files, **values}).to_arrow_table()

    @contextmanager
    def _open_cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor of its own for a query, once fewer than READERS queries run."""
        with hold_slot(self._reading):
            with self._lock:
                cursor = self._connections[0].cursor()
            with cursor:
                yield cursor

    def _limit_memory(self, n_bytes: int) -> None:
        self._connections[0].execute(f"set global memory_limit = '{n_bytes} bytes'")


def estimate_bytes(row: Sequence[Any]) -> int:
    """About the memory of a row of numbers, text and bytes."""
    return sum(len(value) if isinstance(value, bytes | str) else 8 for value in row)


def escape(path: Path) -> str:
    """A path in which DuckDB sees no pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))
