"""An open index: the handle that commands, programs and the web page share."""

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
from tagsight.index.similar import find_like_photo, find_like_region, read_photo_levels
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
    """A photo's file when it was indexed."""

    path: Path
    n_bytes: int
    mtime_ns: int


class Hits(list[Hit]):
    """A list of the photos found, best first; a notebook shows their pictures with the matching regions outlined."""

    def __init__(self, hits: Iterable[Hit], index: "Index"):
        super().__init__(hits)
        self._index = index

    def _repr_html_(self) -> str:
        from tagsight.index.hits_page import render_pictures

        return render_pictures(self._index, self)


class Index:
    """An index that follows its folder: each call answers from one generation, the newest when the call began.

    Between calls the manifest, the words, columns of the factors last asked for and the photos last looked up stay in
    memory (`snapshot.py`, 192 MB at most). A call raises `LostIndexError` if the folder holds no readable index any
    more, and `BusyError` if there is not enough memory for the answer or the deadline passes (`limits.answer_within`).
    """

    def __init__(self, folder: Path, *, backbone: Path | None = None):
        self.folder = folder
        self._backbone = backbone
        self._lock = threading.Lock()
        self._predictor: tuple[str, PhotoPredictor] | None = None  # of a model by its SHA-256
        self._snapshot: Snapshot | None = None
        self._seen: Stamps = ()
        self._answer(lambda snapshot: snapshot)
        if backbone is not None:
            _ = self.model  # raises InputError here, and not at the first photo, if `backbone` is another network

    def find(self, text: str, *, top: int | None = TOP, threshold: float = 0.0, start: int = 0) -> Hits:
        """The photos that best fit a query such as "furry brown horse, shiny car -person".

        `top=None` gives every photo that scores at least `threshold`; the first `start` of them are passed over.
        Raises `UnknownWordError` (with `.word` and `.nearest`) for a word the index does not know, and InputError for
        a query that asks for nothing.
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
        """How many photos score at least `threshold`: the length of the list that `find` gives with `top=None`."""
        return self._answer(lambda snapshot: count_hits(snapshot, parse_query(text, snapshot.words), threshold))

    def list_photos(self, *, start: int = 0, n: int = TOP) -> list["ListedPhoto"]:
        """Photos in order of their numbers."""
        from tagsight.index.lookup import list_photos

        return self._answer(lambda snapshot: list_photos(snapshot, start, n))

    def look_up(self, photo: int) -> "StoredPhoto":
        """All that is stored of a photo: boxes, probabilities, label map."""
        from tagsight.index.lookup import look_up

        return self._answer(lambda snapshot: look_up(snapshot, photo))

    def find_areas(self, photo: int, text: str) -> "FoundAreas":
        """Where in a photo each thing of a query is."""
        from tagsight.index.lookup import find_areas

        return self._answer(lambda snapshot: find_areas(snapshot, photo, parse_query(text, snapshot.words)))

    @property
    def factor_names(self) -> "FactorNames":
        """The words of the factors, discovered ones by the names people gave them."""
        from tagsight.index.lookup import list_names

        return self._answer(list_names)

    def like(self, photo: int, region: int | None = None, *, top: int = TOP) -> Hits:
        """The photos most like a photo of the index (by number), or those with a region most like one of its regions.

        See `similar` for how likeness is measured. The photo itself is left out.
        """
        self._check_top(top)

        def ask(snapshot: Snapshot) -> list[Hit]:
            if snapshot.find_place(photo) is None:
                raise UnknownPhotoError(photo)
            levels, _ = read_photo_levels(snapshot, photo)
            if region is None:
                return find_like_photo(snapshot, levels.max(axis=0), top=top, without=photo)
            if not 0 <= region < len(levels):
                raise InputError(f"photo {photo} has the regions 0 to {len(levels) - 1}, not {region}")
            return find_like_region(snapshot, levels[region], top=top, without=photo)

        return Hits(self._answer(ask), self)

    def like_file(self, path: Path, at: tuple[int, int] | None = None, *, top: int = TOP) -> Hits:
        """As `like` for any photo file, which the index's model looks at; `at` (x, y) chooses the region there.

        A file of the collection that is in the index is looked up instead.
        """
        self._check_top(top)
        known = self._find_number(path)
        if known is not None:
            return self.like(known, None if at is None else self.region_at(known, *at), top=top)
        photo, probabilities, _ = self.predict(path)
        levels = to_levels(probabilities)
        if at is None:
            hits = self._answer(lambda snapshot: find_like_photo(snapshot, levels.max(axis=0), top=top))
        else:
            region = pick_region(photo.labels, photo.size, *at)
            hits = self._answer(lambda snapshot: find_like_region(snapshot, levels[region], top=top))
        return Hits(hits, self)

    def predict(self, path: Path) -> "tuple[PhotoFeatures, Floats, RegionLabels]":
        """A photo file described, the (R, K) probabilities that the model gives its regions, and their names."""
        from tagsight.data.photo import read_photo

        return self.predict_pixels(read_photo(path))

    def predict_pixels(self, photo: "Photo") -> "tuple[PhotoFeatures, Floats, RegionLabels]":
        """As `predict`, for a photo already read."""
        from tagsight.index.build import join_factors

        predictor = self._open_predictor()
        try:
            predictor.open_extractor()
        except InputError as problem:
            raise LostIndexError(str(problem)) from problem
        features, prediction = predictor.predict(photo)
        return features, join_factors(prediction), choose_labels(prediction.objects)

    def region_at(self, photo: int, x: int, y: int) -> int:
        """The region at a pixel of a photo of the index, counted in the whole photo."""
        return pick_region(self.labels(photo), self._describe(photo).size, x, y)

    def regions(self, photo: int) -> tuple[Floats, Array]:
        """(R, K) probabilities, in the order of `manifest.factor_names`, and (R, 4) boxes of a photo's regions."""

        def ask(snapshot: Snapshot) -> tuple[Array, Array]:
            if snapshot.find_place(photo) is None:
                raise UnknownPhotoError(photo)
            return read_photo_levels(snapshot, photo)

        levels, boxes = self._answer(ask)
        return to_probabilities(levels), boxes

    def name_factor(self, factor: str, name: str) -> str:
        """Name a free factor ("free-7"); see `names.name_factor`. The next call knows the word."""
        self._read_state()
        return name_factor(self.folder, factor, name)

    def remove_name(self, factor: str) -> str:
        """Remove the name of a free factor ("free-7"); returns the name that it had."""
        self._read_state()
        return remove_name(self.folder, factor)

    def labels(self, photo: int) -> Array:
        """(h, w) int32: the region of every pixel of a photo, by number, at the scale of analysis."""
        label_map = self._answer(lambda snapshot: snapshot.read_label_map(photo))
        if label_map is None:
            raise UnknownPhotoError(photo)
        return decode_label_map(label_map)

    def path(self, photo: int) -> Path:
        """Where a photo's file is."""
        return self.stored_file(photo).path

    def stored_file(self, photo: int) -> StoredFile:
        """Where a photo's file is, and its size and time when it was indexed."""
        row = self._describe(photo)
        return StoredFile(Path(self.manifest.root, row.path), row.n_bytes, row.mtime_ns)

    @property
    def snapshot(self) -> Snapshot:
        """The generation that counts now, for several questions that must agree; it does not follow updates."""
        return self._answer(lambda snapshot: snapshot)

    @property
    def manifest(self) -> Manifest:
        """The generation that counts now: its root, vocabulary, parts."""
        return self._answer(lambda snapshot: snapshot.manifest)

    @property
    def words(self) -> tuple[str, ...]:
        """Every word that can be asked for: objects, attributes, free factors by number, and names given to them."""
        return self._answer(lambda snapshot: tuple(snapshot.words.factors))

    @property
    def names(self) -> dict[str, str]:
        """Names given to free factors, by factor."""
        return self._read_state()[1]

    @property
    def model(self) -> "TrainedModel":
        """The model the index was made with, read from the index's own copy when first asked for."""
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
        def ask(snapshot: Snapshot) -> PhotoRow:
            place = snapshot.find_place(photo)
            if place is None:
                raise UnknownPhotoError(photo)
            return snapshot.describe_photos(snapshot.photos[[place]])[photo]

        return self._answer(ask)

    def _answer(self, ask: Callable[[Snapshot], T]) -> T:
        """Ask the newest generation, and again if it was overtaken and its files removed under the question."""
        while True:
            before = self._stamps()
            try:
                return ask(self._refresh(before))
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
            if self._snapshot is None or stamps != self._seen:
                manifest, names = self._read_state()
                self._snapshot = Snapshot(self.folder, manifest, make_words(manifest, names))
                self._seen = stamps
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
