"""The regions of photos as inputs of the classifiers, and the prior of labels given a region's height.

Let P(b | l) be the share of the area labelled l that lies in the band b of the photo's height, and P(b) the share of
all area in that band. A region in band b adds to the score of label l

    log P(b | l) / P(b),

which prefers sky above road. The P(b | l) are smoothed with PRIOR_PHOTOS photos' worth of P(b), so that a label of few
photos has a weak height prior.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.transforms import Views, scale_features
from tagsight.types import Array, Floats

BANDS = 8
PRIOR_PHOTOS = 5.0


class EmbeddedRegions(NamedTuple):
    """The regions of some photos, in the photos' order."""

    photos: Sequence[PhotoFeatures]
    views: Views
    X: Array  # (N, d) embeddings

    def iterate_slices(self) -> Iterator[slice]:
        """Yield the rows of X of each photo."""
        start = 0
        for photo in self.photos:
            yield slice(start, start := start + len(photo.features))

    def iterate_photos(self) -> Iterator[tuple[slice, Floats, Array]]:
        """Yield rows, areas (R,) and scaled features (R, D) of each photo, which are computed one photo at a time."""
        for rows, photo in zip(self.iterate_slices(), self.photos, strict=True):
            yield rows, photo.area, scale_features(photo.features, self.views)


def pool_features(area: Floats, scaled_features: Array) -> Array:
    """(D,) area-weighted mean of a photo's scaled features (R, D)."""
    return area.astype(np.float32) @ scaled_features


def find_height_bands(labels: Array, n_regions: int) -> Array:
    """(R,) int8, the height band of the centre of each region of a label map (h, w); 0 is the top."""
    height = len(labels)
    rows = np.repeat(np.arange(height) + 0.5, labels.shape[1])
    total = np.bincount(labels.ravel(), rows, n_regions)
    centre = total / np.maximum(np.bincount(labels.ravel(), minlength=n_regions), 1) / height
    return np.minimum((centre * BANDS).astype(np.int8), np.int8(BANDS - 1))


def fit_height_prior(bands: Array, labels: Array, area: Floats, n_labels: int) -> Array:
    """(n_labels, BANDS) float32 log ratios, from regions in `bands` (N,) with `labels` (N,) and `area` (N,)."""
    count = np.zeros((n_labels, BANDS))
    np.add.at(count, (labels, bands), area)
    marginal = (count.sum(axis=0) + 1e-9) / (count.sum() + BANDS * 1e-9)
    conditional = (count + PRIOR_PHOTOS * marginal) / (count.sum(axis=1, keepdims=True) + PRIOR_PHOTOS)
    return np.log(conditional / marginal).astype(np.float32)
