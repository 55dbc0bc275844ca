"""One generation of an index, open for queries: DuckDB over its immutable Parquet files."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from tagsight.errors import InputError
from tagsight.index.manifest import Manifest, labels_file, photos_file
from tagsight.index.words import Words
from tagsight.types import Array

MEMORY = "256MB"  # that DuckDB may use


class UnknownPhotoError(InputError):
    """No photo of the index has this number."""


class Snapshot:
    """A generation and its words. Threads may share it: every query has a cursor of its own."""

    def __init__(self, folder: Path, manifest: Manifest, words: Words, *, n_threads: int):
        self.folder = folder
        self.manifest = manifest
        self.words = words
        self._connection = duckdb.connect(":memory:", config={"threads": n_threads, "memory_limit": MEMORY})
        self._connection.execute("set parquet_metadata_cache = true")
        self._removed = np.array([photo for part in manifest.parts for photo in part.removed], np.uint32)
        self._lock = threading.Lock()
        self._views = {
            "photos": [escape(photos_file(folder, part)) for part in manifest.parts],
            "labels": [escape(labels_file(folder, part)) for part in manifest.parts],
        }

    def read(self, columns: Sequence[str], *, photos: Array | None = None, view: str = "photos") -> pa.Table:
        """Columns of the photos that count, or of those among them whose numbers are given, in any order."""
        if not self._views[view]:
            raise InputError(f"the index {str(self.folder)!r} holds no photo")
        conditions: list[str] = []
        values: dict[str, Any] = {"files": self._views[view]}
        if photos is not None:
            conditions.append("photo in (select unnest($photos::uinteger[]))")
            values["photos"] = photos.tolist()
        if len(self._removed):
            conditions.append("photo not in (select unnest($removed::uinteger[]))")
            values["removed"] = self._removed.tolist()
        where = f" where {' and '.join(conditions)}" if conditions else ""
        with self._lock:
            cursor = self._connection.cursor()
        with cursor:
            return cursor.sql(
                f"select {', '.join(columns)} from read_parquet($files){where}", params=values
            ).to_arrow_table()


def escape(path: Path) -> str:
    """A path in which DuckDB sees no pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))
