"""What an index stores of a photo, and how probabilities become columns.

A part holds two Parquet files with one row a photo:

    photos-NAME.parquet   photo uint32, path, width, height, mtime_ns, bytes, sha256, regions,
                          boxes      (R, 4) int32: x0, y0, x1, y1 in the whole photo, the end exclusive
                          top0 ..    uint16: the highest probability of factor 0, 1, .. over the regions
                          p0 ..      (R,) uint16: the probability of factor 0, 1, .. in each region
    labels-NAME.parquet   photo uint32, png: which region each pixel is of, at the scale of analysis

Arrays lie in binary columns, little-endian, row-major. A probability p is stored as round(65535 p): off by at most
7.7e-6, so a product of w words by at most 7.7e-6 w. (Eight bits have steps of 4e-3: too coarse for 1e-3, however
spaced.) A row a photo keeps two bytes a value, where Parquet gives a plain uint16 column four, and lets a query
that needs few photos pass over the others without decoding them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tagsight.types import Array, Floats

LEVELS = 65535
PROBABILITY = np.dtype("<u2")
BOX = np.dtype("<i4")


class IndexedPhoto(NamedTuple):
    """One photo as it goes into a part."""

    photo: int  # its number, never used again for another
    path: str  # relative to the collection's root, with /
    size: tuple[int, int]  # (W, H)
    mtime_ns: int
    n_bytes: int
    sha256: str  # the first 40 digits
    boxes: Array  # (R, 4)
    levels: Array  # (R, K) uint16
    labels: bytes  # PNG


def to_levels(probabilities: Array) -> Array:
    """(...) uint16 of probabilities in [0, 1]."""
    return np.rint(np.asarray(probabilities, np.float64) * LEVELS).astype(PROBABILITY)


def to_probabilities(levels: Array) -> Floats:
    """(...) float64 of stored levels."""
    return levels / np.float64(LEVELS)


def name_top(factor: int) -> str:
    """Column of a factor's highest probability."""
    return f"top{factor}"


def name_regions(factor: int) -> str:
    """Column of a factor's probability in each region."""
    return f"p{factor}"


def tabulate_photos(photos: Sequence[IndexedPhoto]) -> pa.Table:
    """The photos file's table."""
    n_factors = photos[0].levels.shape[1]
    columns: dict[str, pa.Array] = {
        "photo": pa.array([photo.photo for photo in photos], pa.uint32()),
        "path": pa.array([photo.path for photo in photos], pa.string()),
        "width": pa.array([photo.size[0] for photo in photos], pa.int32()),
        "height": pa.array([photo.size[1] for photo in photos], pa.int32()),
        "mtime_ns": pa.array([photo.mtime_ns for photo in photos], pa.int64()),
        "bytes": pa.array([photo.n_bytes for photo in photos], pa.int64()),
        "sha256": pa.array([photo.sha256 for photo in photos], pa.string()),
        "regions": pa.array([len(photo.boxes) for photo in photos], pa.int32()),
        "boxes": pa.array([photo.boxes.astype(BOX).tobytes() for photo in photos], pa.binary()),
    }
    top = np.stack([photo.levels.max(axis=0) for photo in photos])
    columns |= {name_top(k): pa.array(top[:, k], pa.uint16()) for k in range(n_factors)}
    sizes = np.array([len(photo.levels) for photo in photos])
    ends = pa.py_buffer(np.concatenate([[0], np.cumsum(PROBABILITY.itemsize * sizes)]).astype(np.int32))
    every = np.concatenate([photo.levels for photo in photos]).astype(PROBABILITY)
    for k in range(n_factors):
        content = pa.py_buffer(np.ascontiguousarray(every[:, k]))
        columns[name_regions(k)] = pa.Array.from_buffers(pa.binary(), len(photos), [None, ends, content])
    return pa.table(columns)


def tabulate_labels(photos: Sequence[IndexedPhoto]) -> pa.Table:
    """The labels file's table."""
    return pa.table(
        {
            "photo": pa.array([photo.photo for photo in photos], pa.uint32()),
            "png": pa.array([photo.labels for photo in photos], pa.binary()),
        }
    )


def join_binary(column: pa.ChunkedArray, dtype: np.dtype) -> Array:
    """The values of every row of a binary column, end to end, without a copy where one chunk holds them."""
    pieces: list[Array] = []
    for chunk in column.chunks:
        _, ends, content = chunk.buffers()
        width = np.int64 if pa.types.is_large_binary(chunk.type) else np.int32
        bounds = np.frombuffer(ends, width)[chunk.offset : chunk.offset + len(chunk) + 1]
        if len(chunk) and content is not None:
            start, stop = int(bounds[0]), int(bounds[-1])
            pieces.append(np.frombuffer(content, dtype, (stop - start) // dtype.itemsize, start))
    if len(pieces) == 1:
        return pieces[0]
    return np.concatenate(pieces) if pieces else np.empty(0, dtype)
