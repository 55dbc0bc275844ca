"""One generation of an index, open for queries: DuckDB over its immutable Parquet files."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from tagsight.errors import InputError
from tagsight.index.manifest import Manifest, photos_file, regions_file
from tagsight.index.schema import name_top
from tagsight.index.words import Words
from tagsight.types import Array, Ints

MEMORY = "128MB"  # that DuckDB may use for a query
CACHED = 64 * 2**20  # bytes of the highest levels kept from earlier queries
# Files never change, so their footers are read once; few rows are wanted of a column, so it is not fetched ahead.
AMONG = "photo in (select unnest($photos::uinteger[]))"
SETTINGS = ("set global parquet_metadata_cache = true", "set global disable_parquet_prefetching = true")


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
        self._tops: OrderedDict[int, Array] = OrderedDict()
        stored = self._read_regions(["photo"])["photo"].to_numpy().astype(np.int64)
        removed = [photo for part in manifest.parts for photo in part.removed]
        self._counts = ~np.isin(stored, removed) if removed else slice(None)
        self.photos: Ints = stored[self._counts]  # (I,) the photos that count

    def read_tops(self, factors: Sequence[int]) -> dict[int, Array]:
        """For each factor its highest level in every photo, (I,) uint16 in the order of `photos`."""
        with self._lock:
            found = {k: self._tops[k] for k in factors if k in self._tops}
        missing = [k for k in dict.fromkeys(factors) if k not in found]
        if missing:
            table = self._read_regions([name_top(k) for k in missing])
            found |= {k: table[name_top(k)].to_numpy()[self._counts] for k in missing}
        found = {k: found[k] for k in factors}
        with self._lock:
            for k in factors:
                self._tops[k] = found[k]
                self._tops.move_to_end(k)
            while len(self._tops) > 1 and sum(top.nbytes for top in self._tops.values()) > CACHED:
                self._tops.popitem(last=False)
        return found

    def read_photos(self, columns: Sequence[str], photos: Ints) -> list[tuple[Any, ...]]:
        """Rows of the photos files, of photos by number, in any order."""
        if not len(photos):
            return []
        with self._open_cursor() as cursor:
            query = f"select {', '.join(columns)} from read_parquet($files) where {AMONG}"
            return cursor.execute(query, {"files": self._photos_files, "photos": photos.tolist()}).fetchall()

    def read_regions(self, columns: Sequence[str], photos: Ints) -> pa.Table:
        """Columns of the regions files, of photos by number, in any order."""
        return self._read_regions(columns, f" where {AMONG}", photos=photos.tolist())

    def find_path(self, path: str) -> int | None:
        """The number of the photo with a path, relative to the root."""
        if not self._photos_files:
            return None
        with self._open_cursor() as cursor:
            query = "select photo from read_parquet($files) where path = $path"
            found = cursor.execute(query, {"files": self._photos_files, "path": path}).fetchall()
        return next((photo for (photo,) in found if photo in self.photos), None)

    def _read_regions(self, columns: Sequence[str], where: str = "", **values: Any) -> pa.Table:
        if not self._regions_files:
            return pa.table({name: pa.array([], pa.uint32()) for name in columns})
        with self._open_cursor() as cursor:
            query = f"select {', '.join(columns)} from read_parquet($files){where}"
            return cursor.sql(query, params={"files": self._regions_files, **values}).to_arrow_table()

    def _open_cursor(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            return self._connection.cursor()


def escape(path: Path) -> str:
    """A path in which DuckDB sees no pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))
