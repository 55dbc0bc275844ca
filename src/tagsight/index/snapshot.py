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
        stored = self._read(self._regions_files, ["photo"])["photo"].to_numpy().astype(np.int64)
        removed = [photo for part in manifest.parts for photo in part.removed]
        self._counts = ~np.isin(stored, removed) if removed else slice(None)
        self.photos: Ints = stored[self._counts]  # (I,) the photos that count

    def read_tops(self, factors: Sequence[int]) -> dict[int, Array]:
        """For each factor its highest level in every photo, (I,) uint16 in the order of `photos`."""
        with self._lock:
            found = {k: self._tops[k] for k in factors if k in self._tops}
        missing = [k for k in dict.fromkeys(factors) if k not in found]
        if missing:
            table = self._read(self._regions_files, [name_top(k) for k in missing])
            found |= {k: table[name_top(k)].to_numpy()[self._counts] for k in missing}
        with self._lock:
            for k in factors:
                self._tops[k] = found[k]
                self._tops.move_to_end(k)
            while len(self._tops) > 1 and sum(top.nbytes for top in self._tops.values()) > CACHED:
                self._tops.popitem(last=False)
        return found

    def read_photos(self, columns: Sequence[str], photos: Ints) -> pa.Table:
        """Columns of the photos files, of photos by number, in any order."""
        return self._read_of(self._photos_files, columns, photos)

    def read_regions(self, columns: Sequence[str], photos: Ints) -> pa.Table:
        """Columns of the regions files, of photos by number, in any order."""
        return self._read_of(self._regions_files, columns, photos)

    def find_path(self, path: str) -> int | None:
        """The number of the photo with a path, relative to the root."""
        table = self._read(self._photos_files, ["photo"], where="path = $path", path=path)
        numbers = [photo for photo in table["photo"].to_pylist() if photo in self.photos]
        return numbers[0] if numbers else None

    def _read_of(self, files: list[str], columns: Sequence[str], photos: Ints) -> pa.Table:
        where = "photo in (select unnest($photos::uinteger[]))"
        return self._read(files, columns, where=where, photos=photos.tolist())

    def _read(self, files: list[str], columns: Sequence[str], *, where: str = "true", **values: Any) -> pa.Table:
        if not files:
            return pa.table({name: pa.array([], pa.uint32()) for name in columns})
        with self._lock:
            cursor = self._connection.cursor()
        with cursor:
            query = f"select {', '.join(columns)} from read_parquet($files) where {where}"
            return cursor.sql(query, params={"files": files, **values}).to_arrow_table()


def escape(path: Path) -> str:
    """A path in which DuckDB sees no pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))
