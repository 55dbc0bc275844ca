"""Shards on disk, of which one at a time is in memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import overload

import numpy as np

from tagsight.engine.shard_file import FEATURES, load_layout, load_shard_into
from tagsight.model.layout import Layout, Shard
from tagsight.types import Array


class StoredShards(Sequence[Shard]):
    """The shards in `folders`. All share one buffer: the features of a shard are gone when the next is asked for.

    The buffer, of bytes, may be given; it must hold the largest.
    """

    def __init__(self, folders: Sequence[Path], buffer: Array | None = None):
        self.folders = tuple(folders)
        self._buffer = _hold_largest(folders) if buffer is None else buffer

    def __len__(self) -> int:
        return len(self.folders)

    @overload
    def __getitem__(self, index: int) -> Shard: ...

    @overload
    def __getitem__(self, index: slice) -> "StoredShards": ...

    def __getitem__(self, index: int | slice) -> "Shard | StoredShards":
        if isinstance(index, slice):
            return StoredShards(self.folders[index], self._buffer)
        return load_shard_into(self.folders[index], self._buffer)

    def layout(self, index: int) -> Layout:
        """The layout alone, without reading the features."""
        return load_layout(self.folders[index])


def _hold_largest(folders: Sequence[Path]) -> Array:
    return np.empty(max((folder / FEATURES).stat().st_size for folder in folders), np.uint8)
