"""Features of many photos: extracted on all cores, cached per photo; unreadable photos are reported and left out.

Photos are processed in chunks by worker processes of this machine, or by any function with the interface of `map`. The
cache entry of a photo is written whole or not at all, so the entries record which photos are done.
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
from tagsight.features.extractor import NETWORKS, ExtractorConfig, FeatureExtractor, open_extractor
from tagsight.features.photo_features import N_REGIONS, FeatureCache, PhotoFeatures, extract_photo
from tagsight.runtime.interrupts import check_stop
from tagsight.runtime.workers import MAX_SERIAL_PHOTOS, map_in_workers

CHUNK = 4  # photos per call of a worker

MapFunction = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]  # as `map`: results in order


class CachedPhotos(Sequence[PhotoFeatures]):
    """Features of photos that stay in the cache: each is read when it is indexed, and not kept in memory."""

    def __init__(self, cache: FeatureCache, photos: Sequence[Path], entries: Sequence[Path]):
        self._cache = cache
        self._photos = photos
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> PhotoFeatures: ...

    @overload
    def __getitem__(self, index: slice) -> "CachedPhotos": ...

    def __getitem__(self, index: int | slice) -> "PhotoFeatures | CachedPhotos":
        if isinstance(index, slice):
            return CachedPhotos(self._cache, self._photos[index], self._entries[index])
        check_stop()
        entry = self._entries[index]
        features = self._cache.load(entry)
        if features is None:
            raise UnreadablePhotoError(
                self._photos[index], f"its cached features {entry.name} was removed meanwhile; run again"
            )
        return features


class Extraction(NamedTuple):
    """The cache entry of each photo, and the photos that have none."""

    cache: FeatureCache
    photos: tuple[Path, ...]  # those that could be read, in the order given
    entries: tuple[Path, ...]  # the path of the cache entry of each
    problems: tuple[Problem, ...]

    @property
    def cached(self) -> CachedPhotos:
        """The features of `photos`, read from the cache one at a time."""
        return CachedPhotos(self.cache, self.photos, self.entries)

    def load(self) -> Iterator[PhotoFeatures]:
        """Iterate over the features of `photos`."""
        return iter(self.cached)


class _Task(NamedTuple):
    extractor_config: ExtractorConfig
    n_regions: int
    cache: FeatureCache


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
    """Extract the features of every photo that is not in the cache; `on_photo` is called after each photo.

    `map_fn` distributes the work; by default `n_workers` processes of this machine do it (None: one per core). On
    another `device` than the CPU the built-in network runs there, and its vectors have a separate cache.
    """
    n_workers = n_workers or os.cpu_count() or 1
    cache, extract_missing = _plan(extractor_config, n_regions, n_workers, map_fn, device)
    found: list[Path | Problem | None] = [None] * len(photos)
    if map_fn is None:
        found = _find_entries(photos, cache, n_workers, on_photo)
    extracted = extract_missing([photo for photo, entry in zip(photos, found, strict=True) if entry is None])
    for number, entry in enumerate(found):
        if entry is None:
            found[number] = next(extracted)
            on_photo()
    good = [(photo, entry) for photo, entry in zip(photos, found, strict=True) if isinstance(entry, Path)]
    return Extraction(
        cache,
        tuple(photo for photo, _ in good),
        tuple(entry for _, entry in good),
        tuple(problem for problem in found if isinstance(problem, Problem)),
    )


def _plan(
    extractor_config: ExtractorConfig, n_regions: int, n_workers: int, map_fn: MapFunction | None, device: str
) -> tuple[FeatureCache, Callable[[Sequence[Path]], Iterator[Path | Problem]]]:
    """The cache, and the function that extracts the features of photos into it."""
    network = NETWORKS.get(extractor_config.features)
    if device != "cpu" and network is not None:
        from tagsight.features.torch_extractor import extract_on_gpu, open_torch_extractor

        extractor = open_torch_extractor(network, "cuda")
        cache = FeatureCache.open(extractor.fingerprint, n_regions)
        return cache, partial(
            extract_on_gpu,
            network=network,
            extractor=extractor,
            cache=cache,
            n_regions=n_regions,
            n_workers=n_workers,
        )
    fingerprint = open_extractor(extractor_config).fingerprint
    cache = FeatureCache(FeatureCache.open(fingerprint, n_regions).folder.absolute())
    task = _Task(extractor_config, n_regions, cache)
    return cache, partial(_extract_all, task=task, n_workers=n_workers, map_fn=map_fn)


def _find_entries(
    photos: Sequence[Path], cache: FeatureCache, n_threads: int, on_photo: Callable[[], None]
) -> list[Path | Problem | None]:
    """For each photo its cache entry, or the problem of the photo; None if there is no intact entry."""
    found: list[Path | Problem | None] = []
    threads = ThreadPoolExecutor(n_threads)
    try:
        for entry in threads.map(partial(_find_entry, cache), photos):
            check_stop()
            found.append(entry)
            if entry is not None:
                on_photo()
    finally:
        threads.shutdown(cancel_futures=True)
    return found


def _find_entry(cache: FeatureCache, photo: Path) -> Path | Problem | None:
    try:
        entry = cache.locate(photo)
    except UnreadablePhotoError as error:
        return Problem(photo, error.reason)
    return None if cache.load(entry) is None else entry


def _extract_all(
    photos: Sequence[Path], task: _Task, n_workers: int, map_fn: MapFunction | None
) -> Iterator[Path | Problem]:
    if map_fn is None and (n_workers == 1 or len(photos) <= MAX_SERIAL_PHOTOS):
        extractor = open_extractor(task.extractor_config)
        for photo in photos:
            check_stop()
            yield _extract(photo, extractor, task)
        return
    absolute = [photo.absolute() for photo in photos]  # a worker may have another working directory
    chunks = [absolute[first : first + CHUNK] for first in range(0, len(absolute), CHUNK)]
    map_fn = map_fn or partial(map_in_workers, n_workers=min(n_workers, len(chunks)))
    found = chain.from_iterable(map_fn(partial(_extract_chunk, task), chunks))
    for photo, entry in zip(photos, found, strict=True):
        yield entry._replace(path=photo) if isinstance(entry, Problem) else entry


_extractors: dict[Path, FeatureExtractor] = {}  # by cache folder, so that a worker process opens its extractor once


def _extract_chunk(task: _Task, photos: Sequence[Path]) -> list[Path | Problem]:
    """Runs in a worker process."""
    if task.cache.folder not in _extractors:
        cv2.setNumThreads(1)  # each core has its own worker
        _extractors[task.cache.folder] = open_extractor(task.extractor_config)
    return [_extract(photo, _extractors[task.cache.folder], task) for photo in photos]


def _extract(photo: Path, extractor: FeatureExtractor, task: _Task) -> Path | Problem:
    try:
        entry = task.cache.locate(photo)
        if task.cache.load(entry) is None:
            task.cache.store(entry, extract_photo(photo, extractor, n_regions=task.n_regions))
    except UnreadablePhotoError as error:
        return Problem(photo, error.reason)
    return entry
