"""The handle of an open index, which commands, programs and the web server share."""

import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tagsight.errors import InputError
from tagsight.index.errors import BusyError, LostIndexError, UnknownPhotoError
from tagsight.index.manifest import CURRENT, REPAIR, Manifest, model_file, read_manifest
from tagsight.index.names import FILE as NAMES
from tagsight.index.names import name_factor, read_names, remove_name
from tagsight.index.part_file import DamagedPartError, decode_label_map
from tagsight.index.query import make_words, parse_query
from tagsight.index.search import Hit, count_hits, search
from tagsight.index.similar import find_similar_photos, find_similar_regions, read_photo_levels
from tagsight.index.snapshot import PhotoRow, Snapshot
from tagsight.predict.probabilities import choose_labels, to_levels, to_probabilities
from tagsight.types import Array, Floats

if TYPE_CHECKING:
    from tagsight.data.photo import Photo
    from tagsight.features.photo_features import PhotoFeatures
    from tagsight.index.lookup import FoundAreas, ListedPhoto, StoredPhoto
    from tagsight.predict.probabilities import RegionLabels
    from tagsight.predict.regions import FactorNames
    from tagsight.predict.trained_model import PhotoPredictor, TrainedModel

T = TypeVar("T")
Stamps = tuple[tuple[int, int, int] | None, ...]
TOP = 20


def open_index(folder: Path | str, *, backbone: Path | str | None = None) -> "Index":
    """Open the index in `folder`; the handle may be shared by threads and stays valid while the index is rebuilt.

    `backbone` is the present path of the ONNX network of the index's model, if the file was moved. Another network is
    refused.
    """
    return Index(Path(folder), backbone=None if backbone is None else Path(backbone))


class StoredFile(NamedTuple):
    """The file of a photo, with its size and modification time when it was indexed."""

    path: Path
    n_bytes: int
    mtime_ns: int


class Hits(list[Hit]):
    """The photos found, best first; a notebook shows their pictures with the matching regions outlined."""

    def __init__(self, hits: Iterable[Hit], index: "Index"):
        super().__init__(hits)
        self._index = index

    def _repr_html_(self) -> str:
        from tagsight.index.hits_page import render_pictures

        return render_pictures(self._index, self)


class Index:
    """An open index that follows changes of its folder: each call uses the newest generation at its start.

    The manifest, the words, columns of recently used factors and recently used photos stay in memory between calls
    (`snapshot.py`, at most 192 MB). A call raises `LostIndexError` if the folder has no readable index any more, and
    `BusyError` if memory is short or the deadline passes (`limits.answer_within`).
    """

    def __init__(self, folder: Path, *, backbone: Path | None = None):
        self.folder = folder
        self._backbone = backbone
        self._lock = threading.Lock()
        self._predictor: tuple[str, PhotoPredictor] | None = None  # with the SHA-256 of its model
        self._snapshot: Snapshot | None = None
        self._loaded_stamps: Stamps = ()
        self._answer(lambda snapshot: snapshot)
        if backbone is not None:
            _ = self.model  # raises InputError at once if `backbone` is another network

    def find(self, text: str, *, top: int | None = TOP, threshold: float = 0.0, start: int = 0) -> Hits:
        """The photos that best fit a query such as "furry brown horse, shiny car -person".

        `top=None` returns every photo that scores at least `threshold`; the first `start` of them are skipped. Raises
        `UnknownWordError` (with `.word` and `.nearest`) for a word that is not in the index, and InputError for a query
        without a word to find.
        """
        self._check_top(top)
        if not 0.0 <= threshold <= 1.0:
            raise InputError(f"the threshold must lie between 0 and 1, not {threshold}")
        if start < 0:
            raise InputError(f"start must be 0 or more, not {start}")
        hits = self._answer(
            lambda snapshot: search(
                snapshot, parse_query(text, snapshot.words), top=top, threshold=threshold, start=start
            )
        )
        return Hits(hits, self)

    def count(self, text: str, *, threshold: float = 0.0) -> int:
        """The number of photos that score at least `threshold`."""
        return self._answer(lambda snapshot: count_hits(snapshot, parse_query(text, snapshot.words), threshold))

    def list_photos(self, *, start: int = 0, n: int = TOP) -> list["ListedPhoto"]:
        """`n` photos in the order of their numbers, from position `start`."""
        from tagsight.index.lookup import list_photos

        return self._answer(lambda snapshot: list_photos(snapshot, start, n))

    def load_photo(self, photo: int) -> "StoredPhoto":
        """Everything that is stored of a photo: boxes, probabilities, label map."""
        from tagsight.index.lookup import load_photo

        return self._answer(lambda snapshot: load_photo(snapshot, photo))

    def find_areas(self, photo: int, text: str) -> "FoundAreas":
        """The areas of a photo that fit each clause of a query."""
        from tagsight.index.lookup import find_areas

        return self._answer(lambda snapshot: find_areas(snapshot, photo, parse_query(text, snapshot.words)))

    @property
    def factor_names(self) -> "FactorNames":
        """The names of the factors; discovered ones have the names that users gave them."""
        from tagsight.index.lookup import list_names

        return self._answer(list_names)

    def find_similar(self, photo: int, region: int | None = None, *, top: int = TOP) -> Hits:
        """The photos most similar to a photo of the index or, with `region`, to one of its regions.

        See `index.similar` for the similarity. The photo itself is left out.
        """
        self._check_top(top)

        def query(snapshot: Snapshot) -> list[Hit]:
            if snapshot.find_place(photo) is None:
                raise UnknownPhotoError(photo)
            levels, _ = read_photo_levels(snapshot, photo)
            if region is None:
                return find_similar_photos(snapshot, levels.max(axis=0), top=top, without=photo)
            if not 0 <= region < len(levels):
                raise InputError(f"photo {photo} has the regions 0 to {len(levels) - 1}, not {region}")
            return find_similar_regions(snapshot, levels[region], top=top, without=photo)

        return Hits(self._answer(query), self)

    def find_similar_to_file(self, path: Path, at: tuple[int, int] | None = None, *, top: int = TOP) -> Hits:
        """As `find_similar`, for a photo file, which the index's model predicts; `at` (x, y) chooses the region there.

        A file that is in the index is not predicted again.
        """
        self._check_top(top)
        known = self._find_number(path)
        if known is not None:
            return self.find_similar(known, None if at is None else self.region_at(known, *at), top=top)
        photo, probabilities, _ = self.predict(path)
        levels = to_levels(probabilities)
        if at is None:
            hits = self._answer(lambda snapshot: find_similar_photos(snapshot, levels.max(axis=0), top=top))
        else:
            region = pick_region(photo.labels, photo.size, *at)
            hits = self._answer(lambda snapshot: find_similar_regions(snapshot, levels[region], top=top))
        return Hits(hits, self)

    def predict(self, path: Path) -> "tuple[PhotoFeatures, Floats, RegionLabels]":
        """The regions of a photo file, the (R, K) probabilities of their factors, and their labels."""
        from tagsight.data.photo import read_photo

        return self.predict_pixels(read_photo(path))

    def predict_pixels(self, photo: "Photo") -> "tuple[PhotoFeatures, Floats, RegionLabels]":
        """As `predict`, for a photo that has been read."""
        from tagsight.index.build import join_factors

        predictor = self._open_predictor()
        try:
            predictor.open_extractor()
        except InputError as problem:
            raise LostIndexError(str(problem)) from problem
        features, prediction = predictor.predict(photo)
        return features, join_factors(prediction), choose_labels(prediction.objects)

    def region_at(self, photo: int, x: int, y: int) -> int:
        """The region at pixel (x, y) of a photo of the index, in pixels of the whole photo."""
        return pick_region(self.labels(photo), self._describe(photo).size, x, y)

    def regions(self, photo: int) -> tuple[Floats, Array]:
        """(R, K) probabilities, in the order of `manifest.factor_names`, and (R, 4) boxes of a photo's regions."""

        def query(snapshot: Snapshot) -> tuple[Array, Array]:
            if snapshot.find_place(photo) is None:
                raise UnknownPhotoError(photo)
            return read_photo_levels(snapshot, photo)

        levels, boxes = self._answer(query)
        return to_probabilities(levels), boxes

    def name_factor(self, factor: str, name: str) -> str:
        """Name a free factor ("free-7"); see `names.name_factor`. Queries can contain the name at once."""
        self._read_state()
        return name_factor(self.folder, factor, name)

    def remove_name(self, factor: str) -> str:
        """Remove the name of a free factor ("free-7"); returns the name that it had."""
        self._read_state()
        return remove_name(self.folder, factor)

    def labels(self, photo: int) -> Array:
        """(h, w) int32: the region of every pixel of a photo, at the scale of analysis."""
        label_map = self._answer(lambda snapshot: snapshot.read_label_map(photo))
        if label_map is None:
            raise UnknownPhotoError(photo)
        return decode_label_map(label_map)

    def path(self, photo: int) -> Path:
        """The path of the file of a photo."""
        return self.stored_file(photo).path

    def stored_file(self, photo: int) -> StoredFile:
        """The path of the file of a photo, and its size and time when it was indexed."""
        row = self._describe(photo)
        return StoredFile(Path(self.manifest.root, row.path), row.n_bytes, row.mtime_ns)

    @property
    def snapshot(self) -> Snapshot:
        """The newest generation, for several queries that must agree; it does not follow changes."""
        return self._answer(lambda snapshot: snapshot)

    @property
    def manifest(self) -> Manifest:
        """The manifest of the newest generation: root, vocabulary, parts."""
        return self._answer(lambda snapshot: snapshot.manifest)

    @property
    def words(self) -> tuple[str, ...]:
        """Every word that a query may contain: objects, attributes, free factors by number, and their names."""
        return self._answer(lambda snapshot: tuple(snapshot.words.factors))

    @property
    def names(self) -> dict[str, str]:
        """The names given to free factors, by factor."""
        return self._read_state()[1]

    @property
    def model(self) -> "TrainedModel":
        """The model of the index, read from the index's own copy at the first use."""
        return self._open_predictor().model

    def _open_predictor(self) -> "PhotoPredictor":
        from tagsight.predict.model_file import load_model
        from tagsight.predict.trained_model import PhotoPredictor

        manifest = self.manifest
        with self._lock:
            if self._predictor is None or self._predictor[0] != manifest.model:
                try:
                    model = load_model(model_file(self.folder, manifest), backbone=self._backbone)
                except InputError as problem:
                    raise LostIndexError(str(problem)) from problem
                self._predictor = (manifest.model, PhotoPredictor(model))
            return self._predictor[1]

    def _find_number(self, path: Path) -> int | None:
        root = Path(self.manifest.root)
        for file, folder in ((Path(os.path.abspath(path)), root), (path.resolve(), root.resolve())):
            if file.is_relative_to(folder):
                inside = file.relative_to(folder).as_posix()
                found = self._answer(lambda snapshot, inside=inside: snapshot.find_path(inside))
                if found is not None:
                    return found
        return None

    @staticmethod
    def _check_top(top: int | None) -> None:
        if top is not None and top < 1:
            raise InputError(f"top must be 1 or more, not {top}")

    def _describe(self, photo: int) -> PhotoRow:
        def query(snapshot: Snapshot) -> PhotoRow:
            place = snapshot.find_place(photo)
            if place is None:
                raise UnknownPhotoError(photo)
            return snapshot.describe_photos(snapshot.photos[[place]])[photo]

        return self._answer(query)

    def _answer(self, query: Callable[[Snapshot], T]) -> T:
        """The result of `query` for the newest generation; repeated if that generation was replaced meanwhile."""
        while True:
            before = self._stamps()
            try:
                return query(self._refresh(before))
            except MemoryError as problem:
                raise BusyError("there is not enough memory for this request now; try again later") from problem
            except OSError as problem:
                if self._stamps() == before:
                    raise LostIndexError(
                        f"the index {str(self.folder)!r} lacks a file that its manifest names, or has a damaged one; "
                        f"{REPAIR}"
                    ) from problem
            except DamagedPartError as problem:
                if self._stamps() == before:
                    raise LostIndexError(str(problem)) from problem

    def _refresh(self, stamps: Stamps) -> Snapshot:
        with self._lock:
            if self._snapshot is None or stamps != self._loaded_stamps:
                manifest, names = self._read_state()
                self._snapshot = Snapshot(self.folder, manifest, make_words(manifest, names))
                self._loaded_stamps = stamps
            return self._snapshot

    def _read_state(self) -> tuple[Manifest, dict[str, str]]:
        """The manifest, and the names given to free factors."""
        try:
            manifest = read_manifest(self.folder)
            return manifest, read_names(self.folder, manifest)
        except InputError as problem:
            raise LostIndexError(str(problem)) from problem

    def _stamps(self) -> Stamps:
        return tuple(_stamp(self.folder / name) for name in (CURRENT, NAMES))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def pick_region(labels: Array, size: tuple[int, int], x: int, y: int) -> int:
    """The region of a label map (h, w) at pixel (x, y) of the whole photo of `size` (W, H)."""
    width, height = size
    if not (0 <= x < width and 0 <= y < height):
        raise InputError(f"pixel {x},{y} lies outside a photo of {width} x {height} pixels")
    h, w = labels.shape
    return int(labels[y * h // height, x * w // width])
