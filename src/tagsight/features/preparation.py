"""Photos prepared by all cores, ahead of a network that runs elsewhere."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import cv2

from tagsight.data.collection import Problem
from tagsight.errors import UnreadablePhotoError
from tagsight.features.cache import FeatureCache
from tagsight.features.deep import DEFAULTS
from tagsight.features.efficientnet import open_builtin
from tagsight.features.extract import FEW
from tagsight.features.prepared import PreparedPhoto, prepare_photo
from tagsight.runtime.interrupts import check_stop
from tagsight.runtime.workers import map_in_workers

AHEAD = 128  # photos that may wait in memory, some 3 MB each


class Awaiting(NamedTuple):
    """A photo to be described, and where its description goes."""

    place: Path
    photo: PreparedPhoto


def prepare_all(
    photos: Sequence[Path], network: str, cache: FeatureCache, n_regions: int, n_workers: int
) -> Iterator[Awaiting | Path | Problem]:
    """In the photos' order: what awaits the `network`, the place of what is described already, or what is wrong."""
    if n_workers == 1 or len(photos) <= FEW:
        worker = _Worker(network, cache, n_regions)
        for photo in photos:
            check_stop()
            yield worker.prepare(photo)
        return
    prepare = partial(_prepare_in_worker, network, cache, n_regions)
    yield from map_in_workers(prepare, photos, min(n_workers, len(photos)), ahead=AHEAD)


class _Worker:
    def __init__(self, network: str, cache: FeatureCache, n_regions: int):
        self._backbone = open_builtin(network)
        self._cache = cache
        self._n_regions = n_regions

    def prepare(self, photo: Path) -> Awaiting | Path | Problem:
        try:
            place = self._cache.place(photo)
            if self._cache.load(place) is not None:
                return place
            return Awaiting(place, prepare_photo(photo, self._backbone, DEFAULTS, n_regions=self._n_regions))
        except UnreadablePhotoError as error:
            return Problem(photo, error.reason)


_workers: dict[Path, _Worker] = {}  # by the cache: a worker process opens the network once


def _prepare_in_worker(network: str, cache: FeatureCache, n_regions: int, photo: Path) -> Awaiting | Path | Problem:
    """In a worker process."""
    if cache.folder not in _workers:
        cv2.setNumThreads(1)  # every core has a worker of its own
        _workers[cache.folder] = _Worker(network, cache, n_regions)
    return _workers[cache.folder].prepare(photo)
