"""Photos prepared on the CPU cores for a network that runs on a GPU: all of `deep` features but network and pooling."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from scipy import sparse

from tagsight.data.collection import Problem
from tagsight.data.photo import read_photo
from tagsight.errors import UnreadablePhotoError
from tagsight.features.backbone import Backbone
from tagsight.features.efficientnet import STRIDES, open_builtin
from tagsight.features.extractor import DEFAULTS, DeepSettings
from tagsight.features.photo_features import FeatureCache
from tagsight.features.pooling import compute_cell_weights, compute_colour_histograms
from tagsight.regions import segment_photo
from tagsight.runtime.interrupts import check_stop
from tagsight.runtime.workers import MAX_SERIAL_PHOTOS, map_in_workers
from tagsight.types import Array

AHEAD = 128  # prepared photos waiting in memory, about 3 MB each


class PreparedPhoto(NamedTuple):
    """A photo cut into regions, ready for the network."""

    images: dict[float, Array]  # (H, W, 3) uint8 for each zoom
    weights: tuple[sparse.csr_array, ...]  # (R, cells) for each map of the settings
    colours: Array  # (R, bins^3) float32: square roots of the Lab histograms
    labels: Array
    edges: Array
    boundary: Array
    size: tuple[int, int]


class PendingPhoto(NamedTuple):
    """A prepared photo, and the cache entry for its features."""

    entry: Path
    photo: PreparedPhoto


def prepare_photos(
    photos: Sequence[Path], network: str, cache: FeatureCache, n_regions: int, n_workers: int
) -> Iterator[PendingPhoto | Path | Problem]:
    """For each of `photos`, in order: the photo prepared for `network`, its cache entry, or its problem."""
    if n_workers == 1 or len(photos) <= MAX_SERIAL_PHOTOS:
        preparer = _Preparer(network, cache, n_regions)
        for photo in photos:
            check_stop()
            yield preparer.prepare(photo)
        return
    prepare = partial(_prepare_in_worker, network, cache, n_regions)
    yield from map_in_workers(prepare, photos, min(n_workers, len(photos)), ahead=AHEAD)


def prepare_photo(path: Path, backbone: Backbone, settings: DeepSettings, *, n_regions: int) -> PreparedPhoto:
    """Read and segment a photo, and compute all that `extract_regions` does except the network and its pooling."""
    photo = read_photo(path)
    regions = segment_photo(photo.pixels, n_regions)
    images = {use.zoom: backbone.resize(photo.pixels, zoom=use.zoom) for use in settings.maps}
    weights = weigh_maps(regions.labels, images, settings)
    colours = compute_colour_histograms(
        photo.pixels, regions.labels, bins=settings.colour_bins, soft=settings.colour_soft
    )
    return PreparedPhoto(
        images,
        weights,
        np.sqrt(colours),
        regions.labels,
        regions.edges,
        regions.boundary,
        photo.size,
    )


def weigh_maps(labels: Array, images: dict[float, Array], settings: DeepSettings) -> tuple[sparse.csr_array, ...]:
    """The cell weights (R, cells) for each map of the settings, computed once per grid."""
    grids = [tuple(side // STRIDES[use.name] for side in images[use.zoom].shape[:2]) for use in settings.maps]
    weights = {
        grid: compute_cell_weights(labels, *grid, interpolation=settings.interpolation) for grid in dict.fromkeys(grids)
    }
    return tuple(weights[grid] for grid in grids)


class _Preparer:
    def __init__(self, network: str, cache: FeatureCache, n_regions: int):
        self._backbone = open_builtin(network)
        self._cache = cache
        self._n_regions = n_regions

    def prepare(self, photo: Path) -> PendingPhoto | Path | Problem:
        try:
            entry = self._cache.locate(photo)
            if self._cache.load(entry) is not None:
                return entry
            return PendingPhoto(entry, prepare_photo(photo, self._backbone, DEFAULTS, n_regions=self._n_regions))
        except UnreadablePhotoError as error:
            return Problem(photo, error.reason)


_preparers: dict[Path, _Preparer] = {}  # by the cache folder, so that a worker process opens the network once


def _prepare_in_worker(network: str, cache: FeatureCache, n_regions: int, photo: Path) -> PendingPhoto | Path | Problem:
    if cache.folder not in _preparers:
        cv2.setNumThreads(1)  # each core has its own worker
        _preparers[cache.folder] = _Preparer(network, cache, n_regions)
    return _preparers[cache.folder].prepare(photo)
