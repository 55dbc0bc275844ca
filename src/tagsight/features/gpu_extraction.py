"""Descriptions of many photos with the network on a GPU: the processors cut photos and prepare them ahead of it."""

# pyright: reportMissingImports=false

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import cv2
import torch
from threadpoolctl import threadpool_limits

from tagsight.data.collection import Problem
from tagsight.errors import UnreadablePhotoError
from tagsight.features.backbone import Backbone
from tagsight.features.cache import FeatureCache
from tagsight.features.deep import DEFAULTS
from tagsight.features.prepared import PreparedPhoto, prepare_photo
from tagsight.features.torch_describer import BATCH, TorchDescriber

WINDOW = 4 * BATCH  # photos that are sorted by size into batches
AHEAD = 2 * WINDOW  # photos prepared and not yet described: some 6 MB each


class _Awaiting(NamedTuple):
    place: Path
    photo: PreparedPhoto


def open_torch_describer(device: str) -> TorchDescriber:
    """The built-in network on a device of PyTorch's, as by default."""
    return TorchDescriber(Backbone.builtin(), DEFAULTS, torch.device(device))


def describe_on_gpu(
    photos: Sequence[Path], describer: TorchDescriber, cache: FeatureCache, n_regions: int, n_workers: int
) -> Iterator[Path | Problem]:
    """Where each photo's entry of the cache is, made if it is not there; or what is wrong with the photo."""
    # Spawned, not forked: a process that holds a GPU cannot be forked.
    with ProcessPoolExecutor(
        n_workers, get_context("spawn"), initializer=_start_worker, initargs=(cache, n_regions)
    ) as pool:
        prepared = _prepare_ahead(pool, photos)
        while window := list(islice(prepared, WINDOW)):
            awaiting = [found for found in window if isinstance(found, _Awaiting)]
            for (place, _), described in zip(awaiting, describer.describe([w.photo for w in awaiting]), strict=True):
                cache.store(place, described)
            yield from (found.place if isinstance(found, _Awaiting) else found for found in window)


def _prepare_ahead(pool: ProcessPoolExecutor, photos: Sequence[Path]) -> Iterator[_Awaiting | Path | Problem]:
    """As `pool.map`, but with no more than AHEAD results waiting in memory."""
    waiting: deque[Future[_Awaiting | Path | Problem]] = deque()
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

    def prepare(self, photo: Path) -> _Awaiting | Path | Problem:
        try:
            place = self._cache.place(photo)
            if self._cache.load(place) is not None:
                return place
            return _Awaiting(place, prepare_photo(photo, self._backbone, DEFAULTS, n_regions=self._n_regions))
        except UnreadablePhotoError as error:
            return Problem(photo, error.reason)


_worker: _Worker


def _start_worker(cache: FeatureCache, n_regions: int) -> None:
    global _worker
    cv2.setNumThreads(1)
    threadpool_limits(1, user_api="blas")  # every core has a worker of its own
    _worker = _Worker(cache, n_regions)


def _prepare_in_worker(photo: Path) -> _Awaiting | Path | Problem:
    return _worker.prepare(photo)
