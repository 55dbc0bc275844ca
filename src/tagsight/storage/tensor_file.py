"""Tensors and a JSON header in one safetensors file, with a SHA-256 of both.

The file's metadata holds one entry, `tagsight`: the header as JSON, with `sha256`, the hash of the rest of the header
and of every tensor. (One entry, because safetensors writes several in any order, and equal content should be equal
bytes.) Opening such a file can run nothing.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tagsight.storage.files import write_atomically
from tagsight.types import Array

ENTRY = "tagsight"  # of the metadata

DTYPES = {"BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64", "F16", "F32", "F64"}  # that NumPy has

Header = dict[str, Any]
Tensors = dict[str, Array]


class TensorFile(NamedTuple):
    """The content of a file; only its form is checked."""

    header: Header | None  # without the checksum; None: missing or damaged
    tensors: Tensors
    intact: bool  # whether the checksum of header and tensors is correct


def save_tensors(path: Path, header: Header, tensors: Tensors) -> None:
    """Write the file; `path` holds the old content or the new one at any time."""
    write_atomically(path, encode_tensors(header, tensors))


def encode_tensors(header: Header, tensors: Tensors) -> bytes:
    """The content of the file."""
    content = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    signed = {**header, "sha256": digest_tensors(header, content)}
    return save(content, {ENTRY: _write_json(signed)})


def read_tensors(path: Path) -> TensorFile:
    """The content of a safetensors file; SafetensorError or OSError if it is none."""
    with safe_open(path, framework="np") as file:
        names = list(file.keys())
        for name in names:
            if (dtype := file.get_slice(name).get_dtype()) not in DTYPES:
                raise SafetensorError(f"the tensor {name!r} is of type {dtype}")
        tensors = {name: file.get_tensor(name) for name in names}
        metadata = file.metadata() or {}
    try:
        header = json.loads(metadata[ENTRY])
    except (KeyError, ValueError, RecursionError):
        return TensorFile(None, tensors, intact=False)
    if not is_json_object(header):
        return TensorFile(None, tensors, intact=False)
    recorded = header.pop("sha256", None)
    return TensorFile(header, tensors, intact=recorded == digest_tensors(header, tensors))


def is_json_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def digest_tensors(header: Header, tensors: Tensors) -> str:
    """SHA-256 of the header, and of names, types, shapes and numbers of the tensors."""
    total = sha256(_write_json(header).encode(errors="surrogatepass"))
    for name in sorted(tensors):
        array = tensors[name]
        total.update(f"{name} {array.dtype} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return total.hexdigest()


def _write_json(header: Header) -> str:
    return json.dumps(header, ensure_ascii=False, sort_keys=True)
