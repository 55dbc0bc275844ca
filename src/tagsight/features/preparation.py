"""Photos prepared by all cores, ahead of a network that runs elsewhere."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import cv2
from threadpoolctl import threadpool_limits

from tagsight.data.collection import Problem
from tagsight.errors import UnreadablePhotoError
from tagsight.features.backbone import Backbone
from tagsight.features.cache import FeatureCache
from tagsight.features.deep import DEFAULTS
from tagsight.features.extract import FEW
from tagsight.features.prepared import PreparedPhoto, prepare_photo

AHEAD = 128  # photos that may wait in memory, some 3 MB each


class Awaiting(NamedTuple):
    """A photo to be described, and where its description goes."""

    place: Path
    photo: PreparedPhoto


def prepare_all(
    photos: Sequence[Path], cache: FeatureCache, n_regions: int, n_workers: int
) -> Iterator[Awaiting | Path | Problem]:
    """In the photos' order: what awaits the network, the place of what is described already, or what is wrong."""
    if n_workers == 1 or len(photos) <= FEW:
        with threadpool_limits(1, user_api="blas"):
            yield from map(_Worker(cache, n_regions).prepare, photos)
        return
    waiting: deque[Future[Awaiting | Path | Problem]] = deque()
    # Spawned, not forked: a process that holds a GPU cannot be forked.
    with ProcessPoolExecutor(
        n_workers, get_context("spawn"), initializer=_start_worker, initargs=(cache, n_regions)
    ) as pool:
        for photo in photos:
            waiting.append(pool.submit(_prepare_in_worker, photo))
            if len(waiting) >= AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class _Worker:
    def __init__(self, cache: FeatureCache, n_regions: int):
        self._backbone = Backbone.builtin()
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


_worker: _Worker


def _start_worker(cache: FeatureCache, n_regions: int) -> None:
    global _worker
    cv2.setNumThreads(1)
    threadpool_limits(1, user_api="blas")  # every core has a worker of its own
    _worker = _Worker(cache, n_regions)


def _prepare_in_worker(photo: Path) -> Awaiting | Path | Problem:
    return _worker.prepare(photo)
