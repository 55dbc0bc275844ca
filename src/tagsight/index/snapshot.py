"""One generation of an index, open for queries.

These stay in memory: the highest level of recently used factors in every photo (two bytes per photo and factor); from
their second use on, their levels in all regions (two bytes per region and factor) if four factors fit; and data of
recent searches and photos. Everything else is read from the files of the parts when it is needed: single columns, or
single photos of them.

At most READERS queries read at the same time, and at most SCANS comparisons with every region; others wait. They read
at most COLUMNS columns together, so their memory is bounded.
"""

import threading
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tagsight.index.limits import LRUCache, check_deadline, hold_slot
from tagsight.index.manifest import Manifest
from tagsight.index.part_file import GAP, PartFile, decode_named, join_ranges, list_items
from tagsight.index.parts import check_parts
from tagsight.index.query import Words
from tagsight.predict.probabilities import LEVEL, RegionLabels
from tagsight.types import Array, Ints

READERS = 4  # queries that read at the same time
SCANS = 2  # comparisons with every region of the index at the same time
COLUMNS = 8  # columns of levels that are read together
BLOCK = 1024  # photos that a scan reads together
TOPS_KEPT = 64 * 2**20  # bytes
LEVELS_KEPT = 96 * 2**20  # bytes
READ_KEPT = 32 * 2**20  # bytes
FEWEST_KEPT = 4  # factors

Box = tuple[int, int, int, int]  # x0, y0, x1, y1 in the whole photo; the end is exclusive


class PhotoLevels(NamedTuple):
    """Levels of some photos; those of one factor are concatenated."""

    photos: Ints  # (n,) numbers of the photos
    starts: Ints  # (n + 1,) where the regions of each photo begin, and the end of the last
    values: dict[int, Array]  # uint16, by factor


class PhotoRow(NamedTuple):
    """The stored data of a photo, without probabilities and label map."""

    path: str  # relative to the collection's root
    size: tuple[int, int]  # (W, H)
    n_bytes: int  # size of its file when it was indexed
    mtime_ns: int  # modification time of its file when it was indexed
    boxes: Array  # (R, 4)

    def get_box(self, region: int) -> Box:
        """The box of a region."""
        x0, y0, x1, y1 = self.boxes[region].tolist()
        return x0, y0, x1, y1


class Snapshot:
    """One generation of an index and its words. Threads may share it."""

    def __init__(self, folder: Path, manifest: Manifest, words: Words):
        self.folder = folder
        self.manifest = manifest
        self.words = words
        self._parts = check_parts(folder, manifest)
        self._first_rows = np.cumsum([0, *(part.counts.photos for part in self._parts)])
        stored = _join([part.photos for part in self._parts])
        removed = [photo for part in manifest.parts for photo in part.removed]
        self._rows = np.flatnonzero(~np.isin(stored, removed)) if removed else np.arange(len(stored))
        self.photos: Ints = stored[self._rows]  # (I,) numbers of the photos in the index
        sizes = _join([np.diff(part.region_starts) for part in self._parts])[self._rows]
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._order = np.argsort(self.photos, kind="stable")
        self._lock = threading.Lock()
        self._readers = threading.BoundedSemaphore(READERS)
        self.scans = threading.BoundedSemaphore(SCANS)
        self._tops: LRUCache[Array] = LRUCache(TOPS_KEPT)
        self._levels: LRUCache[Array] = LRUCache(LEVELS_KEPT)
        self._results: LRUCache[Any] = LRUCache(READ_KEPT)
        self._used_once: set[int] = set()  # factors used once, whose levels are not in memory

    def find_place(self, photo: int) -> int | None:
        """The position in `photos` of a photo by number, or None if it is not in the index."""
        places = self.find_places(np.array([photo] if 0 <= photo < 2**32 else [], np.int64))
        return int(places[0]) if len(places) else None

    def find_places(self, photos: Ints) -> Ints:
        """The positions in `photos` of photos by number, without photos that are not in the index."""
        nearest = np.searchsorted(self.photos, photos, sorter=self._order)
        places = self._order[nearest[nearest < len(self._order)]]
        return places[self.photos[places] == photos[nearest < len(self._order)]]

    def read_tops(self, factors: Sequence[int]) -> dict[int, Array]:
        """The highest level of each factor in every photo, (I,) uint16 in the order of `photos`."""
        found = {k: column for k in factors if (column := self._tops.get(k)) is not None}
        missing = [k for k in dict.fromkeys(factors) if k not in found]
        if missing:
            pieces: dict[int, list[Array]] = {k: [] for k in missing}
            with hold_slot(self._readers):
                for part in self._parts:
                    with part.open() as opened:
                        for k in missing:
                            pieces[k].append(opened.read_factor("tops", k))
            for k in missing:
                whole = _join(pieces[k], LEVEL)
                column = whole if len(whole) == len(self._rows) else whole[self._rows]
                found[k] = column
                self._tops.put(k, column, column.nbytes)
        return {k: found[k] for k in factors}

    def read_levels(self, factors: Sequence[int], places: Ints) -> PhotoLevels:
        """Levels of the photos at some positions in `photos`, in any order."""
        check_deadline()
        key = (tuple(factors), places.tobytes())
        before = self.get_cached(key)
        if before is not None:
            return before
        if not self._is_worth_keeping(factors):
            levels = self._load_levels(factors, np.sort(places))
            self.cache_result(key, levels, places.nbytes + sum(column.nbytes for column in levels.values.values()))
            return levels
        sizes = np.diff(self._starts)[places]
        items = list_items(self._starts[places], sizes)
        values: dict[int, Array] = {}
        for k in factors:
            column = self._levels.get(k)
            if column is None:
                column = self._load_levels([k], np.arange(len(self.photos))).values[k]
                self._levels.put(k, column, column.nbytes)
            values[k] = column[items]
        return PhotoLevels(self.photos[places], np.concatenate([[0], np.cumsum(sizes)]), values)

    def _is_worth_keeping(self, factors: Sequence[int]) -> bool:
        """Whether all factors are in memory or used for the second time: reading a column for one use is slower."""
        if FEWEST_KEPT * LEVEL.itemsize * int(self._starts[-1]) > LEVELS_KEPT:
            return False
        with self._lock:
            unknown = [k for k in factors if self._levels.get(k) is None and k not in self._used_once]
            if unknown:
                self._used_once.update(unknown)
            else:
                self._used_once.difference_update(factors)
            return not unknown

    def read_photo_levels(self, factors: Sequence[int], photo: int) -> Array:
        """(R, len(factors)) levels of a photo that is in the index, by number."""
        key = (tuple(factors), photo)
        levels = self.get_cached(key)
        if levels is None:
            loaded = self._load_levels(factors, self.find_places(np.array([photo])))
            levels = np.stack([loaded.values[k] for k in factors], axis=1)
            self.cache_result(key, levels, levels.nbytes)
        return levels

    def list_blocks(self) -> list[slice]:
        """Slices of `photos` with about a thousand photos each, stored in the same part."""
        starts: list[int] = self._first_rows.tolist()
        edges = [np.arange(first, last, BLOCK) for first, last in pairwise(starts)]
        places = np.searchsorted(self._rows, np.append(_join(edges), self._first_rows[-1])).tolist()
        return [slice(a, b) for a, b in pairwise(places)]

    def scan_block(self, block: slice, factors: Sequence[int]) -> PhotoLevels:
        """Levels of the photos of a block, in their order; the caller holds one of the `scans`."""
        check_deadline()
        first, last = int(block.start), int(block.stop)
        return self._read_places(factors, np.arange(first, last))

    def describe_photos(self, photos: Ints) -> dict[int, PhotoRow]:
        """Path, size, file and boxes of photos by number."""
        key = ("rows", photos.tobytes())
        rows = self.get_cached(key)
        if rows is None:
            with hold_slot(self._readers):
                rows = dict(self._read_rows(np.unique(self.find_places(photos))))
            self.cache_result(key, rows, sum(200 + len(row.path) + row.boxes.nbytes for row in rows.values()))
        return rows

    def _read_rows(self, places: Ints) -> Iterator[tuple[int, PhotoRow]]:
        for part, rows in self._split(places):
            with part.open() as opened:
                paths = opened.read_runs("path", "path_starts", rows)
                sizes = opened.read_rows("size", rows).tolist()
                stats = opened.read_rows("file_stat", rows).tolist()
                begins, ends = part.region_starts[rows], part.region_starts[rows + 1]
                boxes = np.split(opened.read_items("boxes", begins, ends), np.cumsum(ends - begins)[:-1])
            for photo, path, size, stat, box in zip(
                part.photos[rows].tolist(), paths, sizes, stats, boxes, strict=True
            ):
                yield photo, PhotoRow(path.decode(), (size[0], size[1]), stat[0], stat[1], box)

    def list_paths(self) -> list[str]:
        """The path of every photo relative to the root, in the order of `photos`."""
        found: list[str] = []
        for part, rows in self._split(np.arange(len(self.photos))):
            with hold_slot(self._readers), part.open() as opened:
                found += [path.decode() for path in opened.read_runs("path", "path_starts", rows)]
        return found

    def read_label_map(self, photo: int) -> bytes | None:
        """The label map of a photo by number, as PNG, or None if the photo is not in the index."""
        key = ("label map", photo)
        content = self.get_cached(key)
        if content is None:
            for part, rows in self._split(self.find_places(np.array([photo]))):
                with hold_slot(self._readers), part.open() as opened:
                    (content,) = opened.read_runs("label_map", "label_map_starts", rows)
                self.cache_result(key, content, len(content))
        return content

    def read_named(self, photo: int) -> RegionLabels | None:
        """The most probable labels of a photo's regions, or None if it is not in the index."""
        key = ("named", photo)
        named = self.get_cached(key)
        if named is None:
            for part, rows in self._split(self.find_places(np.array([photo]))):
                with hold_slot(self._readers), part.open() as opened:
                    starts = part.region_starts
                    named = decode_named(opened.read_items("named", starts[rows], starts[rows + 1]))
                self.cache_result(key, named, named.label.nbytes + named.probability.nbytes)
        return named

    def find_path(self, path: str) -> int | None:
        """The number of the photo with a path relative to the root, or None."""
        wanted = path.encode(errors="surrogatepass")
        for part in self._parts:
            with hold_slot(self._readers), part.open() as opened:
                content, starts = opened.read("path").tobytes(), opened.read("path_starts")
            at = content.find(wanted)
            while at >= 0:
                row = int(np.searchsorted(starts, at))
                if starts[row] == at and starts[row + 1] == at + len(wanted):
                    photo = int(part.photos[row])
                    if self.find_place(photo) is not None:
                        return photo
                at = content.find(wanted, at + 1)
        return None

    def get_cached(self, key: Hashable) -> Any:
        """The cached value of a key, or None."""
        return self._results.get(key)

    def cache_result(self, key: Hashable, value: Any, n_bytes: int) -> None:
        """Cache a value of this generation, unless it is so large that few others would fit."""
        if n_bytes <= READ_KEPT // 16:
            self._results.put(key, value, n_bytes)

    def _load_levels(self, factors: Sequence[int], places: Ints) -> PhotoLevels:
        with hold_slot(self._readers):
            return self._read_places(factors, places)

    def _read_places(self, factors: Sequence[int], places: Ints) -> PhotoLevels:
        """Levels of the photos at ascending positions in `photos`, from the files."""
        pieces: dict[int, list[Array]] = {k: [] for k in factors}
        for part, rows in self._split(places):
            begins, ends = part.region_starts[rows], part.region_starts[rows + 1]
            spans = join_ranges(begins, ends, GAP // LEVEL.itemsize)
            with part.open() as opened:
                for k in factors:
                    pieces[k].append(opened.read_factor("levels", k, spans))
            check_deadline()
        sizes = np.diff(self._starts)[places]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return PhotoLevels(self.photos[places], starts, {k: _join(found, LEVEL) for k, found in pieces.items()})

    def _split(self, places: Ints) -> Iterator[tuple[PartFile, Ints]]:
        """The parts with the photos at ascending positions in `photos`, each with the rows of its photos."""
        rows = self._rows[places]
        edges = np.searchsorted(rows, self._first_rows)
        for number, part in enumerate(self._parts):
            a, b = edges[number], edges[number + 1]
            if a < b:
                yield part, rows[a:b] - self._first_rows[number]


def _join(arrays: Sequence[Array], dtype: Any = np.int64) -> Array:
    """The concatenated arrays; a single array is not copied."""
    return arrays[0] if len(arrays) == 1 else np.concatenate([np.empty(0, dtype), *arrays])
