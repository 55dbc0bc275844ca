"""The safetensors file that holds one part of an index.

A part has n photos with R regions in all and K factors. Its file holds these tensors, in this order:

    file_stat         int64 (n, 2)    size in bytes and modification time in ns of the photo's file when it was indexed
    path_starts       int64 (n + 1,)  where each photo's path begins in `path`, and the end of the last
    label_map_starts  int64 (n + 1,)  the same for `label_map`
    region_starts     int64 (n + 1,)  the same for the regions: `boxes`, `named`, `levels`
    photo             uint32 (n,)     number of the photo, never used again for another one
    size              int32 (n, 2)    width and height of the photo
    boxes             int32 (R, 4)    x0, y0, x1, y1 of each region in the whole photo; the end is exclusive
    named             uint16 (R, 2)   most probable label of each region (0 background, 1 the first object, ...) and the
                                      level of its probability
    tops              uint16 (K, n)   highest level of each factor over the regions of each photo
    levels            uint16 (K, R)   level of each factor in each region
    path              uint8           paths relative to the collection's root, in UTF-8
    label_map         uint8           PNG images whose values are the regions of the pixels, at the scale of analysis

A probability p is stored as the level round(65535 p), off by at most 7.7e-6. So a product of w words is off by at most
7.7e-6 w. (Eight bits have steps of 4e-3, which is too coarse for 1e-3.)

All values of a factor are contiguous, and a photo's regions are contiguous within them. So a query reads single
columns, or a few photos of them. Nothing is compressed: a file never takes more memory than it has bytes. The header
follows from the sizes of the tensors, so a file with any other header is refused.
"""

import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import cv2
import numpy as np

from tagsight.errors import InputError
from tagsight.index.errors import LostIndexError
from tagsight.index.manifest import REPAIR
from tagsight.predict.probabilities import LEVEL, RegionLabels, to_levels, to_probabilities
from tagsight.storage.files import replace_file
from tagsight.types import Array, Ints

START, NUMBER, COORDINATE, BYTE = np.dtype("<i8"), np.dtype("<u4"), np.dtype("<i4"), np.dtype("u1")
_NAMES = {START: "I64", NUMBER: "U32", COORDINATE: "I32", LEVEL: "U16", BYTE: "U8"}  # of the types in safetensors
GAP = 1024  # bytes; ranges that are closer in the file are read together
MOST_HEADER = 2**14  # bytes
PNG = b"\x89PNG\r\n\x1a\n"

Stamp = tuple[int, int, int]  # inode, size and modification time of a file


class DamagedPartError(InputError):
    """The file of a part is missing or damaged; a build drops the part and annotates its photos again."""

    def __init__(self, path: Path, fault: str):
        index = str(path.parent.parent)
        super().__init__(f"the index {index!r} has a damaged file {path.name!r}: {fault}; {REPAIR}")


class IndexedPhoto(NamedTuple):
    """One photo as it is stored in a part."""

    photo: int  # its number, never used for another photo
    path: str  # relative to the collection's root, with /
    size: tuple[int, int]  # (W, H)
    mtime_ns: int
    n_bytes: int
    boxes: Array  # (R, 4)
    levels: Array  # (R, K) uint16
    label_map: bytes  # PNG
    named: RegionLabels


class Counts(NamedTuple):
    """The sizes from which the layout of a part's file follows."""

    photos: int
    regions: int
    factors: int
    path_bytes: int
    label_map_bytes: int


class _Tensor(NamedTuple):
    dtype: np.dtype
    shape: tuple[int, ...]
    offset: int  # in bytes, from the end of the header

    @property
    def n_bytes(self) -> int:
        return self.dtype.itemsize * prod(self.shape)


def _lay_out(counts: Counts) -> dict[str, _Tensor]:
    """The tensors by name, in the order of the file. Wider types come first, so that all are aligned."""
    n, n_regions, n_factors, path_bytes, label_map_bytes = counts
    shapes = {
        "file_stat": (START, (n, 2)),
        "path_starts": (START, (n + 1,)),
        "label_map_starts": (START, (n + 1,)),
        "region_starts": (START, (n + 1,)),
        "photo": (NUMBER, (n,)),
        "size": (COORDINATE, (n, 2)),
        "boxes": (COORDINATE, (n_regions, 4)),
        "named": (LEVEL, (n_regions, 2)),
        "tops": (LEVEL, (n_factors, n)),
        "levels": (LEVEL, (n_factors, n_regions)),
        "path": (BYTE, (path_bytes,)),
        "label_map": (BYTE, (label_map_bytes,)),
    }
    sizes = [dtype.itemsize * prod(shape) for dtype, shape in shapes.values()]
    offsets = accumulate(sizes, initial=0)
    return {
        name: _Tensor(dtype, shape, offset)
        for (name, (dtype, shape)), offset in zip(shapes.items(), offsets, strict=False)
    }


def _encode_header(counts: Counts) -> bytes:
    """The header of a safetensors file: its length, then JSON padded with spaces to a multiple of 8 bytes."""
    header = {
        name: {
            "dtype": _NAMES[tensor.dtype],
            "shape": tensor.shape,
            "data_offsets": (tensor.offset, tensor.offset + tensor.n_bytes),
        }
        for name, tensor in _lay_out(counts).items()
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def write_photos(path: Path, photos: Sequence[IndexedPhoto]) -> None:
    """Write the file of a part that holds these photos."""
    write_tensors(path, _collect_tensors(photos))


def write_tensors(path: Path, tensors: Mapping[str, Array]) -> None:
    """Write the file of a part that has these tensors."""
    counts = Counts(
        len(tensors["photo"]),
        len(tensors["boxes"]),
        len(tensors["levels"]),
        len(tensors["path"]),
        len(tensors["label_map"]),
    )
    _write_file(path, counts, lambda name: iter([tensors[name]]))


def _collect_tensors(photos: Sequence[IndexedPhoto]) -> dict[str, Array]:
    paths = [photo.path.encode() for photo in photos]
    label_maps = [photo.label_map for photo in photos]
    return {
        "file_stat": np.array([(photo.n_bytes, photo.mtime_ns) for photo in photos], START),
        "path_starts": _list_starts(map(len, paths)),
        "label_map_starts": _list_starts(map(len, label_maps)),
        "region_starts": _list_starts(len(photo.boxes) for photo in photos),
        "photo": np.array([photo.photo for photo in photos], NUMBER),
        "size": np.array([photo.size for photo in photos], COORDINATE),
        "boxes": np.concatenate([photo.boxes for photo in photos]).astype(COORDINATE),
        "named": np.concatenate([encode_named(photo.named) for photo in photos]),
        "tops": np.stack([photo.levels.max(axis=0) for photo in photos], axis=1).astype(LEVEL),
        "levels": np.concatenate([photo.levels for photo in photos]).astype(LEVEL).T,
        "path": np.frombuffer(b"".join(paths), BYTE),
        "label_map": np.frombuffer(b"".join(label_maps), BYTE),
    }


def _list_starts(sizes: Any) -> Array:
    """(n + 1,) where runs of these sizes begin when they are put end to end, and the end of the last."""
    return np.fromiter(accumulate(sizes, initial=0), START)


def _write_file(path: Path, counts: Counts, read: Callable[[str], Iterable[Array]]) -> None:
    """Write a part's file; `read(name)` gives the values of a tensor in chunks, in their order."""
    with replace_file(path) as file:
        file.write(_encode_header(counts))
        for name, tensor in _lay_out(counts).items():
            written = 0
            for chunk in read(name):
                content = np.ascontiguousarray(chunk, tensor.dtype)
                file.write(content.data)
                written += content.nbytes
            if written != tensor.n_bytes:
                raise ValueError(f"the tensor {name!r} has {written} bytes and should have {tensor.n_bytes}")


class Spans(NamedTuple):
    """Ranges of items of a tensor; those that are near each other are read together."""

    begins: list[int]
    ends: list[int]
    picked: Ints | None  # positions of the wanted items in the values read; None: all of them


def join_ranges(begins: Ints, ends: Ints, gap: int) -> Spans:
    """Spans that cover ascending ranges [begin, end); ranges at most `gap` items apart share a span."""
    if not len(begins):
        return Spans([], [], None)
    breaks = np.flatnonzero(begins[1:] - ends[:-1] > gap) + 1
    firsts, lasts = np.concatenate([[0], breaks]), np.concatenate([breaks, [len(begins)]]) - 1
    span_begins, span_ends = begins[firsts], ends[lasts]
    sizes = ends - begins
    if int((span_ends - span_begins).sum()) == int(sizes.sum()):
        return Spans(span_begins.tolist(), span_ends.tolist(), None)
    moved = np.cumsum(span_ends - span_begins) - span_ends  # from a position in the tensor to one in the values read
    return Spans(
        span_begins.tolist(),
        span_ends.tolist(),
        list_items(begins + np.repeat(moved, np.diff(np.append(firsts, len(begins)))), sizes),
    )


def list_items(begins: Ints, sizes: Ints) -> Ints:
    """The positions of all items of some ranges, one range after the other."""
    ends = np.cumsum(sizes)
    return np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(begins - (ends - sizes), sizes)


class OpenPart:
    """A part's file while it is open; reading values that the file lacks raises DamagedPartError."""

    def __init__(self, path: Path, file: BinaryIO, data_start: int, tensors: Mapping[str, _Tensor]):
        self._path = path
        self._file = file
        self._data_start = data_start
        self._tensors = tensors

    def read(self, name: str) -> Array:
        """All values of a tensor."""
        tensor = self._tensors[name]
        content = self._read_bytes(tensor.offset, tensor.n_bytes)
        return np.frombuffer(content, tensor.dtype).reshape(tensor.shape)

    def read_factor(self, name: str, factor: int, spans: Spans | None = None) -> Array:
        """The values of a factor in `tops` or `levels`: all, or those of some photos or regions."""
        tensor = self._tensors[name]
        n_items = tensor.shape[1]
        start = tensor.offset + factor * n_items * tensor.dtype.itemsize
        return self._read_spans(tensor.dtype, (), start, spans or Spans([0], [n_items], None))

    def read_items(self, name: str, begins: Ints, ends: Ints) -> Array:
        """The items of a tensor in ascending ranges [begin, end) of its first axis, end to end."""
        tensor = self._tensors[name]
        self._check_ranges(name, begins, ends, tensor.shape[0])
        width = tensor.dtype.itemsize * prod(tensor.shape[1:])
        return self._read_spans(tensor.dtype, tensor.shape[1:], tensor.offset, join_ranges(begins, ends, GAP // width))

    def read_rows(self, name: str, rows: Ints) -> Array:
        """The values of some photos, in ascending order, in a tensor with one item per photo."""
        return self.read_items(name, rows, rows + 1)

    def read_runs(self, name: str, starts: str, rows: Ints) -> list[bytes]:
        """The bytes of some photos, in ascending order, in a tensor whose runs begin at `starts`."""
        begins, ends = self.read_items(starts, rows, rows + 1), self.read_items(starts, rows + 1, rows + 2)
        content = self.read_items(name, begins, ends).tobytes()
        edges = [0, *accumulate((ends - begins).tolist())]
        return [content[a:b] for a, b in pairwise(edges)]

    def _check_ranges(self, name: str, begins: Ints, ends: Ints, n_items: int) -> None:
        is_ascending = (ends >= begins).all() and (begins[1:] >= ends[:-1]).all()
        if len(begins) and not (is_ascending and begins[0] >= 0 and ends[-1] <= n_items):
            raise DamagedPartError(self._path, f"its tensor {name!r} has no such values")

    def _read_spans(self, dtype: np.dtype, shape: tuple[int, ...], start: int, spans: Spans) -> Array:
        """The wanted items of a tensor whose items have a shape; its first item is at `start`."""
        width = dtype.itemsize * prod(shape)
        pieces = [
            self._read_bytes(start + width * a, width * (b - a)) for a, b in zip(spans.begins, spans.ends, strict=True)
        ]
        values = np.frombuffer(b"".join(pieces), dtype).reshape(-1, *shape)
        return values if spans.picked is None else values[spans.picked]

    def _read_bytes(self, offset: int, n_bytes: int) -> bytes:
        content = os.pread(self._file.fileno(), n_bytes, self._data_start + offset)
        if len(content) != n_bytes:
            raise DamagedPartError(self._path, "it is cut short")
        return content


class PartFile:
    """A part's file, whose header was checked, with the numbers and offsets of its photos in memory.

    Files of parts never change. If the file was removed or replaced, reading raises FileNotFoundError or
    DamagedPartError.
    """

    def __init__(self, path: Path):
        self.path = path
        with path.open("rb", buffering=0) as file:
            self._stamp = _stamp(file)
            self.counts, self._data_start = _read_header(path, file)
        self._tensors = _lay_out(self.counts)
        with self.open() as part:
            self.photos: Ints = part.read("photo").astype(np.int64)
            self.region_starts: Ints = part.read("region_starts")
        sizes = np.diff(self.region_starts)
        if self.region_starts[0] != 0 or self.region_starts[-1] != self.counts.regions or (sizes < 1).any():
            raise DamagedPartError(path, "its photos have other regions than it holds")

    @contextmanager
    def open(self) -> Generator[OpenPart]:
        """The open file."""
        with self.path.open("rb", buffering=0) as file:
            if _stamp(file) != self._stamp:
                raise DamagedPartError(self.path, "it was changed since the index was opened")
            yield OpenPart(self.path, file, self._data_start, self._tensors)


def _stamp(file: BinaryIO) -> Stamp:
    status = os.fstat(file.fileno())
    return status.st_ino, status.st_size, status.st_mtime_ns


def _read_header(path: Path, file: BinaryIO) -> tuple[Counts, int]:
    """The sizes of a part's tensors, and the place in the file where they begin."""
    length = int.from_bytes(file.read(8), "little")
    text = file.read(length) if length <= MOST_HEADER else b""
    try:
        shapes = {name: entry["shape"] for name, entry in json.loads(text).items()}
        found = Counts(
            shapes["photo"][0], shapes["boxes"][0], shapes["tops"][0], shapes["path"][0], shapes["label_map"][0]
        )
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as problem:
        raise DamagedPartError(path, "it is not the safetensors file of a part, or is cut short") from problem
    if any(type(count) is not int or not 0 <= count < 2**40 for count in found):
        raise DamagedPartError(path, "its tensors have impossible shapes")
    header, tensors = _encode_header(found), _lay_out(found)
    if length.to_bytes(8, "little") + text != header:
        raise DamagedPartError(path, "it has other tensors than a part")
    n_bytes = len(header) + sum(tensor.n_bytes for tensor in tensors.values())
    if os.fstat(file.fileno()).st_size != n_bytes:
        raise DamagedPartError(path, f"it has {os.fstat(file.fileno()).st_size} bytes and its tensors {n_bytes}")
    return found, len(header)


def merge_files(path: Path, sources: Sequence[tuple[PartFile, Ints]]) -> None:
    """Write the file of a part that holds some photos of other parts, given as ascending rows, in this order."""
    _write_file(path, _count_rows(sources), _Merge(sources).read)


def _count_rows(sources: Sequence[tuple[PartFile, Ints]]) -> Counts:
    sizes = {name: sum(int(_list_sizes(part, name, rows).sum()) for part, rows in sources) for name in _RUNS}
    n_photos = sum(len(rows) for _, rows in sources)
    n_factors = sources[0][0].counts.factors
    return Counts(n_photos, sizes["region_starts"], n_factors, sizes["path_starts"], sizes["label_map_starts"])


_RUNS = ("path_starts", "label_map_starts", "region_starts")
_RUNS_OF = {"path": "path_starts", "label_map": "label_map_starts", "boxes": "region_starts", "named": "region_starts"}
MERGED = 4096  # photos copied together


def _list_sizes(part: PartFile, starts: str, rows: Ints) -> Ints:
    with part.open() as opened:
        return np.diff(opened.read(starts))[rows]


class _Merge:
    """The tensors of a merged part, read a few thousand photos at a time."""

    def __init__(self, sources: Sequence[tuple[PartFile, Ints]]):
        self._sources = sources

    def read(self, name: str) -> Iterator[Array]:
        """A tensor in chunks."""
        if name in _RUNS:
            sizes = np.concatenate([_list_sizes(part, name, rows) for part, rows in self._sources])
            yield np.concatenate([[0], np.cumsum(sizes)])
        elif name in ("tops", "levels"):
            for factor in range(self._sources[0][0].counts.factors):
                for part, opened, rows in self._list_chunks():
                    starts = part.region_starts
                    begins, ends = (starts[rows], starts[rows + 1]) if name == "levels" else (rows, rows + 1)
                    yield opened.read_factor(name, factor, join_ranges(begins, ends, GAP // LEVEL.itemsize))
        elif name in _RUNS_OF:
            for _, opened, rows in self._list_chunks():
                starts = _RUNS_OF[name]
                yield opened.read_items(
                    name, opened.read_items(starts, rows, rows + 1), opened.read_items(starts, rows + 1, rows + 2)
                )
        else:
            for _, opened, rows in self._list_chunks():
                yield opened.read_rows(name, rows)

    def _list_chunks(self) -> Iterator[tuple[PartFile, OpenPart, Ints]]:
        for part, rows in self._sources:
            with part.open() as opened:
                for start in range(0, len(rows), MERGED):
                    yield part, opened, rows[start : start + MERGED]


def encode_label_map(labels: Array) -> bytes:
    """A label map (h, w) as PNG, with eight bits per pixel if they suffice."""
    ok, png = cv2.imencode(".png", labels.astype(np.uint8 if labels.max() < 256 else np.uint16))
    if not ok:
        raise InputError(f"a label map of shape {labels.shape} cannot be stored")
    return png.tobytes()


def decode_label_map(png: bytes) -> Array:
    """(h, w) int32: the label map that `encode_label_map` encoded."""
    labels = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_UNCHANGED)
    if labels is None:
        raise LostIndexError(f"a label map of the index is damaged; {REPAIR}")
    return np.asarray(labels).astype(np.int32)


def encode_named(named: RegionLabels) -> Array:
    """(R, 2) uint16: labels and the levels of their probabilities."""
    return np.stack([named.label.astype(LEVEL), to_levels(named.probability)], axis=1)


def decode_named(values: Array) -> RegionLabels:
    """The labels and probabilities that `encode_named` encoded."""
    label, level = values.T
    return RegionLabels(label.astype(np.int64), to_probabilities(level))
