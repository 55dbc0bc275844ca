"""Descriptions of many photos: on all cores, cached as they come, bad photos reported and passed over.

Chunks of photos go to processes of this machine, or to whatever else maps a function over them. A photo's entry in the
cache appears whole or not at all, so the entries themselves tell what is done.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, overload

import cv2

from tagsight.data.collection import Problem
from tagsight.errors import UnreadablePhotoError
from tagsight.features.cache import FeatureCache
from tagsight.features.extractor import NETWORKS, ExtractorConfig, FeatureExtractor, open_extractor
from tagsight.features.photo_features import N_REGIONS, PhotoFeatures, extract_photo
from tagsight.runtime.interrupts import check_stop
from tagsight.runtime.workers import map_in_workers

FEW = 4  # photos for which starting worker processes is not worth it
CHUNK = 4  # photos that a worker is given at a time

MapFunction = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]  # as `map`: results in order


class CachedPhotos(Sequence[PhotoFeatures]):
    """Described photos that stay in the cache: each is read when it is asked for, and not kept."""

    def __init__(self, cache: FeatureCache, photos: Sequence[Path], places: Sequence[Path]):
        self._cache = cache
        self._photos = photos
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> PhotoFeatures: ...

    @overload
    def __getitem__(self, index: slice) -> "CachedPhotos": ...

    def __getitem__(self, index: int | slice) -> "PhotoFeatures | CachedPhotos":
        if isinstance(index, slice):
            return CachedPhotos(self._cache, self._photos[index], self._places[index])
        check_stop()
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

    def load(self) -> Iterator[PhotoFeatures]:
        """The descriptions, one at a time."""
        return iter(self.described)


def extract(
    photos: Sequence[Path],
    extractor_config: ExtractorConfig,
    *,
    n_regions: int = N_REGIONS,
    n_workers: int | None = None,
    map_fn: MapFunction | None = None,
    on_photo: Callable[[], None] = lambda: None,
    device: str = "cpu",
) -> Extraction:
    """Describe every photo that is not described yet; `on_photo` is told of each.

    Without `map_fn` the work is done by `n_workers` processes of this machine (None: one a core). On another `device`
    than the CPU the built-in network runs there; its vectors are kept apart from the CPU's.
    """
    n_workers = n_workers or os.cpu_count() or 1
    network = NETWORKS.get(extractor_config.features)
    if device != "cpu" and network is not None:
        from tagsight.features.gpu_extraction import extract_on_gpu, open_torch_extractor

        extractor = open_torch_extractor(network, "cuda")
        cache = FeatureCache.open(extractor.fingerprint, n_regions)
        make = partial(
            extract_on_gpu,
            network=network,
            extractor=extractor,
            cache=cache,
            n_regions=n_regions,
            n_workers=n_workers,
        )
    else:
        cache = FeatureCache(
            FeatureCache.open(open_extractor(extractor_config).fingerprint, n_regions).folder.absolute()
        )
        make = partial(_extract_all, work=_Work(extractor_config, n_regions, cache), n_workers=n_workers, map_fn=map_fn)
    places: list[Path | Problem | None] = [None] * len(photos)
    if map_fn is None:
        places = _find_entries(photos, cache, n_workers, on_photo)
    made = make([photo for photo, place in zip(photos, places, strict=True) if place is None])
    for number, place in enumerate(places):
        if place is None:
            places[number] = next(made)
            on_photo()
    good = [(photo, place) for photo, place in zip(photos, places, strict=True) if isinstance(place, Path)]
    return Extraction(
        cache,
        tuple(photo for photo, _ in good),
        tuple(place for _, place in good),
        tuple(place for place in places if isinstance(place, Problem)),
    )


def _find_entries(
    photos: Sequence[Path], cache: FeatureCache, n_threads: int, on_photo: Callable[[], None]
) -> list[Path | Problem | None]:
    """For each photo its entry, or what is wrong with the photo; None where a sound entry is still to be made."""
    found: list[Path | Problem | None] = []
    threads = ThreadPoolExecutor(n_threads)
    try:
        for place in threads.map(partial(_find_entry, cache), photos):
            check_stop()
            found.append(place)
            if place is not None:
                on_photo()
    finally:
        threads.shutdown(cancel_futures=True)
    return found


def _find_entry(cache: FeatureCache, photo: Path) -> Path | Problem | None:
    try:
        place = cache.place(photo)
    except UnreadablePhotoError as error:
        return Problem(photo, error.reason)
    return None if cache.load(place) is None else place


class _Work(NamedTuple):
    extractor_config: ExtractorConfig
    n_regions: int
    cache: FeatureCache


def _extract_all(
    photos: Sequence[Path], work: _Work, n_workers: int, map_fn: MapFunction | None
) -> Iterator[Path | Problem]:
    if map_fn is None and (n_workers == 1 or len(photos) <= FEW):
        extractor = open_extractor(work.extractor_config)
        for photo in photos:
            check_stop()
            yield _extract(photo, extractor, work)
        return
    whole = [photo.absolute() for photo in photos]  # a worker may be at home in another folder
    chunks = [whole[first : first + CHUNK] for first in range(0, len(whole), CHUNK)]
    map_fn = map_fn or partial(map_in_workers, n_workers=min(n_workers, len(chunks)))
    found = chain.from_iterable(map_fn(partial(_extract_chunk, work), chunks))
    for photo, place in zip(photos, found, strict=True):
        yield place._replace(path=photo) if isinstance(place, Problem) else place


_opened: dict[Path, FeatureExtractor] = {}  # by the cache they fill: a worker process opens its describer once


def _extract_chunk(work: _Work, photos: Sequence[Path]) -> list[Path | Problem]:
    """In a worker process."""
    if work.cache.folder not in _opened:
        cv2.setNumThreads(1)  # every core has a worker of its own
        _opened[work.cache.folder] = open_extractor(work.extractor_config)
    return [_extract(photo, _opened[work.cache.folder], work) for photo in photos]


def _extract(photo: Path, extractor: FeatureExtractor, work: _Work) -> Path | Problem:
    try:
        place = work.cache.place(photo)
        if work.cache.load(place) is None:
            work.cache.store(place, extract_photo(photo, extractor, n_regions=work.n_regions))
    except UnreadablePhotoError as error:
        return Problem(photo, error.reason)
    return place
