"""What an index stores of a photo, and how probabilities become columns.

A part holds two Parquet files, both with one row a photo in the same order:

    photos-NAME.parquet    photo uint32, path, width, height, mtime_ns, bytes, sha256,
                           boxes (R, 4) int32: x0, y0, x1, y1 in the whole photo, the end exclusive
                           labels: PNG that tells which region each pixel is of, at the scale of analysis
                           named (R, 2) uint16: what each region most probably is, 0 background, 1 .. objects, and the
                           level of that probability
    regions-NAME.parquet   photo uint32,
                           top0 ..  uint16: the highest probability of factor 0, 1, .. over the regions
                           p0 ..    (R,) uint16: the probability of factor 0, 1, .. in each region

Arrays lie in binary columns, little-endian, row-major. A probability p is stored as the level round(65535 p): off by
at most 7.7e-6, so a product of w words by at most 7.7e-6 w. (Eight bits have steps of 4e-3: too coarse for 1e-3,
however spaced.) A row a photo keeps two bytes a value, where Parquet gives a plain uint16 column four, and lets a
query that needs few photos pass over the others without decoding them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tagsight.predict.levels import LEVEL, to_levels, to_probabilities
from tagsight.predict.region_labels import RegionLabels
from tagsight.types import Array, Ints

COORDINATE = np.dtype("<i4")


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
    named: RegionLabels


class Joined(NamedTuple):
    """The arrays of a binary column end to end."""

    values: Array
    starts: Ints  # (n + 1,) where each row's begin, and the end of the last


def encode_named(named: RegionLabels) -> bytes:
    """Labels beside the levels of their probabilities."""
    return np.stack([named.label.astype(LEVEL), to_levels(named.share)], axis=1).tobytes()


def decode_named(content: bytes) -> RegionLabels:
    """As `encode_named` took it."""
    label, level = np.frombuffer(content, LEVEL).reshape(-1, 2).T
    return RegionLabels(label.astype(np.int64), to_probabilities(level))


def name_top(factor: int) -> str:
    """Column of a factor's highest level."""
    return f"top{factor}"


def name_levels(factor: int) -> str:
    """Column of a factor's level in each region."""
    return f"p{factor}"


PHOTOS_SCHEMA = pa.schema(
    {
        "photo": pa.uint32(),
        "path": pa.string(),
        "width": pa.int32(),
        "height": pa.int32(),
        "mtime_ns": pa.int64(),
        "bytes": pa.int64(),
        "sha256": pa.string(),
        "boxes": pa.binary(),
        "labels": pa.binary(),
        "named": pa.binary(),
    }
)


def list_regions_columns(n_factors: int) -> pa.Schema:
    """Columns of the regions file."""
    tops = {name_top(k): pa.uint16() for k in range(n_factors)}
    return pa.schema({"photo": pa.uint32(), **tops, **{name_levels(k): pa.binary() for k in range(n_factors)}})


def tabulate_photos(photos: Sequence[IndexedPhoto]) -> pa.Table:
    """Rows of the photos file."""
    return pa.table(
        {
            "photo": [photo.photo for photo in photos],
            "path": [photo.path for photo in photos],
            "width": [photo.size[0] for photo in photos],
            "height": [photo.size[1] for photo in photos],
            "mtime_ns": [photo.mtime_ns for photo in photos],
            "bytes": [photo.n_bytes for photo in photos],
            "sha256": [photo.sha256 for photo in photos],
            "boxes": [photo.boxes.astype(COORDINATE).tobytes() for photo in photos],
            "labels": [photo.labels for photo in photos],
            "named": [encode_named(photo.named) for photo in photos],
        },
        schema=PHOTOS_SCHEMA,
    )


def tabulate_regions(photos: Sequence[IndexedPhoto]) -> pa.Table:
    """Rows of the regions file."""
    n_factors = photos[0].levels.shape[1]
    columns: dict[str, pa.Array] = {"photo": pa.array([photo.photo for photo in photos], pa.uint32())}
    top = np.stack([photo.levels.max(axis=0) for photo in photos])
    columns |= {name_top(k): pa.array(top[:, k], pa.uint16()) for k in range(n_factors)}
    sizes = np.array([len(photo.levels) for photo in photos])
    ends = pa.py_buffer(np.concatenate([[0], np.cumsum(LEVEL.itemsize * sizes)]).astype(np.int32))
    every = np.concatenate([photo.levels for photo in photos]).astype(LEVEL)
    for k in range(n_factors):
        content = pa.py_buffer(np.ascontiguousarray(every[:, k]))
        columns[name_levels(k)] = pa.Array.from_buffers(pa.binary(), len(photos), [None, ends, content])
    return pa.table(columns)


def join_rows(column: pa.ChunkedArray, dtype: np.dtype) -> Joined:
    """The arrays of every row of a binary column, without a copy where one chunk holds them."""
    values: list[Array] = []
    sizes: list[Array] = []
    for chunk in column.chunks:
        _, ends, content = chunk.buffers()
        width = np.int64 if pa.types.is_large_binary(chunk.type) else np.int32
        bounds = np.frombuffer(ends, width)[chunk.offset : chunk.offset + len(chunk) + 1]
        count = int(bounds[-1] - bounds[0]) // dtype.itemsize
        values.append(np.frombuffer(content, dtype, count, int(bounds[0])))
        sizes.append(np.diff(bounds) // dtype.itemsize)
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes or [np.empty(0)]))]).astype(np.int64)
    joined = values[0] if len(values) == 1 else np.concatenate(values or [np.empty(0, dtype)])
    return Joined(joined, starts)


def gather_rows(joined: Joined, rows: Ints) -> Joined:
    """The arrays of some rows."""
    sizes = joined.starts[rows + 1] - joined.starts[rows]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    places = np.arange(starts[-1]) + np.repeat(joined.starts[rows] - starts[:-1], sizes)
    return Joined(joined.values[places], starts)
