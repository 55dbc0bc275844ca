"""Shards on disk: one folder per shard, with features and layout.

    features.npy           (n, D) features of the shard's photos, in the row order of the original features
    layout.safetensors     `StoredLayout`, written last

A folder without `layout.safetensors` was left by a killed process; saving the shard again replaces it.
"""

import os
from collections.abc import Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, overload

import numpy as np

from tagsight.errors import InputError
from tagsight.model.layout import Layout, Shard
from tagsight.storage.files import replace_file
from tagsight.storage.records import RecordFormat, load_record, save_record
from tagsight.types import Array, Floats, Ints

FORMAT = RecordFormat("shard layout", 3, "remove its folder and run again")
FEATURES, LAYOUT = "features.npy", "layout.safetensors"
CHUNK = 1 << 24  # bytes written or hashed at a time


class FeatureFile(NamedTuple):
    """A file of features."""

    path: Path
    sha256: str


class StoredLayout(NamedTuple):
    """The layout of a shard, and what identifies its features."""

    layout: Layout  # with row numbers of features.npy
    square: float | Floats  # `Shard.square`
    sha256: str  # of features.npy


def is_intact(features: FeatureFile) -> bool:
    """Return whether the file exists and has the checksum of what was written."""
    return features.path.is_file() and _hash_file(features.path) == features.sha256


def save_features(X: Array, path: Path) -> FeatureFile:
    """Write features as a .npy file."""
    return FeatureFile(path, _save_rows(X, np.arange(len(X)), path))


def save_shard(shard: Shard, folder: Path, *, features: FeatureFile | None = None) -> None:
    """Write the shard, with only the feature rows of its own photos.

    If `features` is given, it must hold exactly these rows; the shard then links to that file instead of a copy.
    """
    for name in (LAYOUT, FEATURES):
        (folder / name).unlink(missing_ok=True)
    own = np.sort(shard.layout.rows)
    rows = np.searchsorted(own, shard.layout.rows)
    if features is None:
        features = FeatureFile(folder / FEATURES, _save_rows(shard.features, own, folder / FEATURES))
    else:
        folder.mkdir(parents=True, exist_ok=True)
        os.link(features.path, folder / FEATURES)
    layout = shard.layout._replace(rows=rows)
    save_record(StoredLayout(layout, shard.square, features.sha256), folder / LAYOUT, FORMAT)


def load_shard(folder: Path) -> Shard:
    """Load a shard written by `save_shard`; InputError if either file is damaged."""
    layout, square, digest = load_record(StoredLayout, folder / LAYOUT, FORMAT)
    if not is_intact(FeatureFile(folder / FEATURES, digest)):
        raise InputError(f"{str(folder / FEATURES)!r} is damaged; {FORMAT.remedy}")
    return Shard(np.load(folder / FEATURES, allow_pickle=False), layout, square)


def load_shard_into(folder: Path, buffer: Array) -> Shard:
    """Load a shard with its features in `buffer`, an array of bytes that is large enough."""
    layout, square, _ = load_record(StoredLayout, folder / LAYOUT, FORMAT)
    return Shard(load_features_into(folder / FEATURES, buffer), layout, square)


def load_features_into(path: Path, buffer: Array) -> Array:
    """Load the features of a .npy file into `buffer`, an array of bytes.

    They are read in every sweep, so their checksum is not verified here; see `is_intact`.
    """
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        size = int(np.prod(shape)) * dtype.itemsize
        if size > len(buffer) or file.readinto(buffer[:size].data) != size:
            raise InputError(f"{str(path)!r} is damaged: its features are not {size} bytes long; run again")
    return buffer[:size].view(dtype).reshape(shape)


def load_layout(folder: Path) -> Layout:
    """Load the layout of a shard without its features."""
    return load_record(StoredLayout, folder / LAYOUT, FORMAT).layout


class StoredShards(Sequence[Shard]):
    """The shards in `folders`, loaded one at a time into a shared buffer.

    Access to one shard overwrites the features of the previous one. A given `buffer`, an array of bytes, must be large
    enough for the largest shard.
    """

    def __init__(self, folders: Sequence[Path], buffer: Array | None = None):
        self.folders = tuple(folders)
        self._buffer = _make_buffer(folders) if buffer is None else buffer

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
        """Load the layout of a shard without its features."""
        return load_layout(self.folders[index])


def _make_buffer(folders: Sequence[Path]) -> Array:
    return np.empty(max((folder / FEATURES).stat().st_size for folder in folders), np.uint8)


def _hash_file(path: Path) -> str:
    total = sha256()
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            total.update(piece)
    return total.hexdigest()


def _save_rows(X: Array, rows: Ints, path: Path) -> str:
    """Write rows of `X` as a .npy file in chunks, and return the SHA-256 of the file."""
    header = BytesIO()
    shape = (len(rows), X.shape[1])
    description = {"descr": np.lib.format.dtype_to_descr(X.dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, description)
    step = max(1, CHUNK // max(1, X.itemsize * X.shape[1]))
    total = sha256(header.getvalue())
    with replace_file(path) as file:
        file.write(header.getvalue())
        for first in range(0, len(rows), step):
            piece = np.ascontiguousarray(X[rows[first : first + step]]).tobytes()
            total.update(piece)
            file.write(piece)
    return total.hexdigest()
