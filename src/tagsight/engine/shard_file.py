"""Shards on disk: one folder per shard, with features that can be memory-mapped, the layout, and a completion marker.

    features.npy           (n, D) features of the shard's photos, in the row order of the original features
    layout.safetensors     the arrays of `model.layout.Layout`, with row numbers of features.npy; `Shard.square`
    done.json              written last: schema, SHA-256 of the two files

A folder without `done.json` was left by a killed process: `has_shard` returns False, and saving again replaces it.
"""

import json
import os
from collections.abc import Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tagsight.errors import InputError
from tagsight.model.layout import Layout, Shard
from tagsight.storage.files import replace_file, write_atomically
from tagsight.types import Array, Floats, Ints

SCHEMA = 2
SQUARE = "square"
FEATURES, LAYOUT, DONE = "features.npy", "layout.safetensors", "done.json"
CHUNK = 1 << 24  # bytes written or hashed at a time


class FeatureFile(NamedTuple):
    """A file of features."""

    path: Path
    sha256: str


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
    for name in (DONE, LAYOUT, FEATURES):
        (folder / name).unlink(missing_ok=True)
    own = np.sort(shard.layout.rows)
    rows = np.searchsorted(own, shard.layout.rows)
    if features is None:
        features = FeatureFile(folder / FEATURES, _save_rows(shard.features, own, folder / FEATURES))
    else:
        folder.mkdir(parents=True, exist_ok=True)
        os.link(features.path, folder / FEATURES)
    arrays = {**shard.layout._replace(rows=rows)._asdict(), SQUARE: np.asarray(shard.square, np.float64)}
    content = save({name: np.asarray(array, order="C") for name, array in arrays.items()})
    write_atomically(folder / LAYOUT, content)
    done = {"schema": SCHEMA, FEATURES: features.sha256, LAYOUT: sha256(content).hexdigest()}
    write_atomically(folder / DONE, json.dumps(done).encode())


def has_shard(folder: Path) -> bool:
    """Return whether the folder holds a complete shard."""
    return (folder / DONE).is_file()


def identify_shard(folder: Path) -> str:
    """Return a hash of the shard's content."""
    return sha256(json.dumps(_read_done(folder), sort_keys=True).encode()).hexdigest()


def load_shard(folder: Path, *, mmap: bool = False) -> Shard:
    """Load a shard written by `save_shard`; with `mmap` its features are a read-only memory map.

    Checksums are verified, except that of memory-mapped features, which are not read here.
    """
    done = _read_done(folder)
    if not mmap:
        check_shard(folder)
    features: Array = np.load(folder / FEATURES, mmap_mode="r" if mmap else None, allow_pickle=False)
    return Shard(features, *_read_layout(folder, done))


def load_shard_into(folder: Path, buffer: Array) -> Shard:
    """Load a shard with its features in `buffer`, an array of bytes that is large enough."""
    done = _read_done(folder)
    return Shard(load_features_into(folder / FEATURES, buffer), *_read_layout(folder, done))


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
    return _read_layout(folder, _read_done(folder))[0]


def check_shard(folder: Path) -> None:
    """Raise InputError unless both files have the checksums of what was written."""
    done = _read_done(folder)
    for name in (FEATURES, LAYOUT):
        if not is_intact(FeatureFile(folder / name, done[name])):
            raise InputError(f"{str(folder / name)!r} is damaged; remove {str(folder)!r} and run again")


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


def _read_done(folder: Path) -> dict[str, Any]:
    try:
        done = json.loads((folder / DONE).read_bytes())
        schema = int(done["schema"])
    except OSError as problem:
        raise InputError(f"there is no complete shard in {str(folder)!r}: {problem.strerror or problem}") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise InputError(f"{str(folder / DONE)!r} is damaged; remove {str(folder)!r} and run again") from problem
    if schema != SCHEMA:
        raise InputError(
            f"{str(folder)!r} has shard schema {schema}, this version of tagsight needs {SCHEMA}; run again"
        )
    return done


def _read_layout(folder: Path, done: dict[str, Any]) -> tuple[Layout, float | Floats]:
    """Load the layout and the sum of squares."""
    try:
        content = (folder / LAYOUT).read_bytes()
        if sha256(content).hexdigest() != done[LAYOUT]:
            raise InputError(f"{str(folder / LAYOUT)!r} is damaged; remove {str(folder)!r} and run again")
        arrays = load(content)
        square = arrays.pop(SQUARE)
        return Layout(**arrays), square if square.ndim else float(square)
    except (OSError, SafetensorError, TypeError, KeyError) as problem:
        raise InputError(f"{str(folder / LAYOUT)!r} cannot be read: {problem}; run again") from problem
