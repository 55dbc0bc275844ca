"""Shards on disk, of which one at a time is in memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import overload

import numpy as np

from tagsight.model.layout import Layout, Shard
from tagsight.storage.shard_file import FEATURES, load_layout, load_shard_into


class StoredShards(Sequence[Shard]):
    """The shards in `folders`. All share one buffer: the features of a shard are gone when the next is asked for."""

    def __init__(self, folders: Sequence[Path]):
        self.folders = tuple(folders)
        self._buffer = np.empty(max((folder / FEATURES).stat().st_size for folder in folders), np.uint8)

    def __len__(self) -> int:
        return len(self.folders)

    @overload
    def __getitem__(self, index: int) -> Shard: ...

    @overload
    def __getitem__(self, index: slice) -> "StoredShards": ...

    def __getitem__(self, index: int | slice) -> "Shard | StoredShards":
        if isinstance(index, slice):
            return StoredShards(self.folders[index])
        return load_shard_into(self.folders[index], self._buffer)

    def layout(self, index: int) -> Layout:
        """The layout alone, without reading the features."""
        return load_layout(self.folders[index])
