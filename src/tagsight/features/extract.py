"""Descriptions of many photos: on all cores, cached as they come, bad photos reported and passed over."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, overload

import cv2
from threadpoolctl import threadpool_limits

from tagsight.data.collection import Problem
from tagsight.errors import UnreadablePhotoError
from tagsight.features.cache import FeatureCache
from tagsight.features.described import N_REGIONS, DescribedPhoto, describe_photo
from tagsight.features.describer import Describer, Recipe, open_describer

FEW = 4  # photos for which starting worker processes is not worth it


class CachedPhotos(Sequence[DescribedPhoto]):
    """Described photos that stay in the cache: each is read when it is asked for, and not kept."""

    def __init__(self, cache: FeatureCache, photos: Sequence[Path], places: Sequence[Path]):
        self._cache = cache
        self._photos = photos
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> DescribedPhoto: ...

    @overload
    def __getitem__(self, index: slice) -> "CachedPhotos": ...

    def __getitem__(self, index: int | slice) -> "DescribedPhoto | CachedPhotos":
        if isinstance(index, slice):
            return CachedPhotos(self._cache, self._photos[index], self._places[index])
        place = self._places[index]
        described = self._cache.load(place)
        if described is None:
            raise UnreadablePhotoError(self._photos[index], f"its cached description {place.name} vanished; run again")
        return described


class Extraction(NamedTuple):
    """Where the description of each photo lies, and the photos that have none."""

    cache: FeatureCache
    photos: tuple[Path, ...]  # those that could be read, in the order given
    places: tuple[Path, ...]  # of their entries
    problems: tuple[Problem, ...]

    @property
    def described(self) -> CachedPhotos:
        """The descriptions, in the cache."""
        return CachedPhotos(self.cache, self.photos, self.places)

    def load(self) -> Iterator[DescribedPhoto]:
        """The descriptions, one at a time."""
        return iter(self.described)


def extract(
    photos: Sequence[Path],
    recipe: Recipe,
    *,
    n_regions: int = N_REGIONS,
    n_workers: int | None = None,
    on_photo: Callable[[], None] = lambda: None,
) -> Extraction:
    """Describe every photo that is not described yet; `on_photo` is told of each."""
    cache = FeatureCache.open(open_describer(recipe).fingerprint, n_regions)
    places: list[Path | Problem] = []
    for place in _describe_all(photos, recipe, n_regions, n_workers or os.cpu_count() or 1):
        places.append(place)
        on_photo()
    good = [(photo, place) for photo, place in zip(photos, places, strict=True) if isinstance(place, Path)]
    return Extraction(
        cache,
        tuple(photo for photo, _ in good),
        tuple(place for _, place in good),
        tuple(place for place in places if isinstance(place, Problem)),
    )


def _describe_all(photos: Sequence[Path], recipe: Recipe, n_regions: int, n_workers: int) -> Iterator[Path | Problem]:
    if n_workers == 1 or len(photos) <= FEW:
        worker = _Worker(recipe, n_regions)
        with threadpool_limits(1, user_api="blas"):
            yield from map(worker.describe, photos)
        return
    # Spawned, not forked: the parent may hold threads and an open network.
    with ProcessPoolExecutor(
        n_workers, get_context("spawn"), initializer=_start_worker, initargs=(recipe, n_regions)
    ) as pool:
        yield from pool.map(_describe_in_worker, photos, chunksize=4)


class _Worker:
    def __init__(self, recipe: Recipe, n_regions: int):
        self._describer: Describer = open_describer(recipe)
        self._n_regions = n_regions
        self._cache = FeatureCache.open(self._describer.fingerprint, n_regions)

    def describe(self, photo: Path) -> Path | Problem:
        try:
            place = self._cache.place(photo)
            if self._cache.load(place) is None:
                self._cache.store(place, describe_photo(photo, self._describer, n_regions=self._n_regions))
        except UnreadablePhotoError as error:
            return Problem(photo, error.reason)
        return place


_worker: _Worker


def _start_worker(recipe: Recipe, n_regions: int) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    cv2.setNumThreads(1)
    threadpool_limits(1, user_api="blas")  # every core has a worker of its own
    _worker = _Worker(recipe, n_regions)


def _describe_in_worker(photo: Path) -> Path | Problem:
    return _worker.describe(photo)
