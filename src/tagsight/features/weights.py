"""Reads the tensors of a PyTorch checkpoint, without PyTorch and without running code from the file.

A checkpoint is a pickle, and a pickle can name any callable to call. Here `find_class` accepts a fixed list of names
and imports nothing, so a malicious file can do no more than raise an exception.

The legacy layout (PyTorch before 1.6) is five pickles in a row, then the bytes of the storages:

    magic number | protocol | machine description | state dict | storage keys | (int64 count, data) per key

Tensors in the state dict refer to storages by key; a tensor is a strided view of its storage.
"""

import math
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from tagsight.errors import InputError
from tagsight.types import Array

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_DTYPES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
}
_MALFORMED = (
    pickle.UnpicklingError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    struct.error,
)


class _Storage(NamedTuple):
    key: str
    dtype: str
    size: int


class _View(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in elements


class _Unpickler(pickle.Unpickler):
    """Accepts ordered dictionaries, storages and strided views of them; refuses every other name."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return self._view
        if module == "torch" and name in _DTYPES:
            return _DTYPES[name]
        raise pickle.UnpicklingError(f"it names {module}.{name}, which no weights file needs")

    def persistent_load(self, pid: Any) -> _Storage:
        kind, dtype, key, _device, count, view = pid
        if kind != "storage" or view is not None:
            raise pickle.UnpicklingError(f"it refers to {pid!r}, which is not a plain storage")
        return _Storage(str(key), str(dtype), int(count))

    def _view(self, storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any) -> _View:
        return _View(storage, offset, shape, strides)


def read_weights(path: Path) -> dict[str, Array]:
    """The named tensors of a legacy PyTorch state dict; raises InputError on anything else."""
    if not path.is_file():
        raise InputError(f"no weights file at {path}; reinstall the package it belongs to")
    if zipfile.is_zipfile(path):
        raise InputError(
            f"{path} is a zip checkpoint; save it with torch.save(..., _use_new_zipfile_serialization=False)"
        )
    try:
        with path.open("rb") as file:
            views = _read_views(file)
            storages = _read_storages(file, views)
            return {name: _resolve(view, storages[view.storage.key]) for name, view in views.items()}
    except _MALFORMED as problem:
        raise InputError(
            f"{path} is not a readable weights file: {problem}; reinstall the package it belongs to"
        ) from problem


def _read_views(file: BinaryIO) -> dict[str, _View]:
    if _Unpickler(file).load() != _MAGIC or _Unpickler(file).load() != _PROTOCOL:
        raise pickle.UnpicklingError("it does not start like a PyTorch checkpoint")
    machine = _Unpickler(file).load()
    if not machine["little_endian"]:
        raise pickle.UnpicklingError("it was written on a big-endian machine")
    content: dict[str, Any] = _Unpickler(file).load()
    views: dict[str, _View] = {}
    for name, view in content.items():
        if not isinstance(view, _View):
            raise pickle.UnpicklingError(f"{name!r} is not a tensor")
        views[name] = view
    return views


def _read_storages(file: BinaryIO, views: dict[str, _View]) -> dict[str, Array]:
    expected = {view.storage.key: view.storage for view in views.values()}
    storages: dict[str, Array] = {}
    for key in _Unpickler(file).load():
        storage = expected[key]
        (count,) = struct.unpack("<q", file.read(8))
        data = file.read(max(storage.size, 0) * np.dtype(storage.dtype).itemsize)
        if count != storage.size:
            raise pickle.UnpicklingError(f"storage {key} holds {count} numbers instead of {storage.size}")
        storages[key] = np.frombuffer(data, storage.dtype, count)
    return storages


def _resolve(view: _View, storage: Array) -> Array:
    """A contiguous copy of the view; raises ValueError unless it is inside the storage and no larger."""
    last = view.offset + sum((n - 1) * step for n, step in zip(view.shape, view.strides, strict=True))
    if min((view.offset, *view.shape, *view.strides)) < 0 or max(last + 1, math.prod(view.shape)) > storage.size:
        raise ValueError(f"a tensor of shape {view.shape} reaches beyond its storage of {storage.size} numbers")
    steps = tuple(step * storage.itemsize for step in view.strides)
    return np.lib.stride_tricks.as_strided(storage[view.offset :], view.shape, steps, writeable=False).copy()
