"""An open index: the handle that commands, programs and the web page share."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
import numpy as np

from tagsight.errors import InputError
from tagsight.index.manifest import CURRENT, Manifest, model_file, read_manifest
from tagsight.index.names import FILE as NAMES
from tagsight.index.names import name_factor, read_names
from tagsight.index.query import parse_query
from tagsight.index.search import Hit, search
from tagsight.index.snapshot import Snapshot, UnknownPhotoError
from tagsight.index.words import make_words

if TYPE_CHECKING:
    from tagsight.index.lookup import FoundAreas, ListedPhoto, StoredPhoto
    from tagsight.tasks.regions import FactorNames
    from tagsight.trained import TrainedModel

T = TypeVar("T")
Stamp = tuple[tuple[int, int, int] | None, ...]
TOP = 20


def open_index(folder: Path | str, *, n_threads: int | None = None) -> "Index":
    """Open the index in `folder`; the handle may be shared by threads and stays valid while the index is rebuilt."""
    return Index(Path(folder), n_threads=n_threads)


class Index:
    """An index that follows its folder: each call answers from one generation, the newest when the call began.

    Nothing but the manifest and the words stays in memory between calls, besides what DuckDB caches (256 MB at most).
    """

    def __init__(self, folder: Path, *, n_threads: int | None = None):
        self.folder = folder
        self._n_threads = n_threads or len(os.sched_getaffinity(0))
        self._lock = threading.Lock()
        self._model: tuple[str, TrainedModel] | None = None
        self._stamp: Stamp = ()
        self._snapshot = self._refresh()

    def find(self, text: str, *, top: int | None = TOP, threshold: float = 0.0, start: int = 0) -> list[Hit]:
        """The photos that best fit a query such as "furry brown horse, shiny car -person".

        `top=None` gives every photo that scores at least `threshold`; the first `start` of them are passed over.
        Raises `UnknownWordError` (with `.word` and `.nearest`) for a word the index does not know, and InputError for
        a query that asks for nothing.
        """
        if top is not None and top < 1:
            raise InputError(f"top must be 1 or more, not {top}")
        if not 0.0 <= threshold <= 1.0:
            raise InputError(f"the threshold must lie between 0 and 1, not {threshold}")
        if start < 0:
            raise InputError(f"start must be 0 or more, not {start}")
        return self._answer(
            lambda snapshot: search(
                snapshot, parse_query(text, snapshot.words), top=top, threshold=threshold, start=start
            )
        )

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

        return list_names(self._refresh())

    def name_factor(self, factor: str, name: str) -> str:
        """Name a free factor ("free-7"); see `names.name_factor`. The next call knows the word."""
        return name_factor(self.folder, factor, name)

    def labels(self, photo: int) -> np.ndarray:
        """(h, w) int32: the region of every pixel of a photo, by number, at the scale of analysis."""
        from tagsight.index.labels import decode_labels

        return decode_labels(self._row(photo, ["png"], "labels")["png"])

    def path(self, photo: int) -> Path:
        """Where a photo's file is."""
        return Path(self.manifest.root, self._row(photo, ["path"])["path"])

    @property
    def manifest(self) -> Manifest:
        """The generation that counts now: its root, vocabulary, parts."""
        return self._refresh().manifest

    @property
    def names(self) -> dict[str, str]:
        """Names given to free factors, by factor."""
        return read_names(self.folder, self.manifest)

    @property
    def model(self) -> "TrainedModel":
        """The model the index was made with, read from the index's own copy when first asked for."""
        from tagsight.storage.model_file import load_model

        manifest = self.manifest
        with self._lock:
            if self._model is None or self._model[0] != manifest.model:
                self._model = (manifest.model, load_model(model_file(self.folder, manifest)))
            return self._model[1]

    def _row(self, photo: int, columns: list[str], view: str = "photos") -> dict[str, Any]:
        def ask(snapshot: Snapshot) -> list[dict[str, Any]]:
            return snapshot.read(columns, photos=np.array([photo], np.uint32), view=view).to_pylist()

        rows = self._answer(ask)
        if not rows:
            raise UnknownPhotoError(f"photo {photo} is not in the index {str(self.folder)!r} (any more)")
        return rows[0]

    def _answer(self, ask: Callable[[Snapshot], T]) -> T:
        """Ask the newest generation; a newer one, if that was removed under the question."""
        snapshot = self._refresh()
        try:
            return ask(snapshot)
        except duckdb.IOException as problem:
            newer = self._refresh()
            if newer is snapshot:
                raise InputError(
                    f"the index {str(self.folder)!r} lacks a file its manifest names; index again into another folder"
                ) from problem
            return ask(newer)

    def _refresh(self) -> Snapshot:
        with self._lock:
            stamp = tuple(_stamp(self.folder / name) for name in (CURRENT, NAMES))
            if stamp != self._stamp:
                manifest = read_manifest(self.folder)
                words = make_words(manifest, read_names(self.folder, manifest))
                self._snapshot = Snapshot(self.folder, manifest, words, n_threads=self._n_threads)
                self._stamp = stamp
            return self._snapshot


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
