"""The regions of photos as readers take them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.views import Views, compute_strengths
from tagsight.types import Array, Floats


class Regions(NamedTuple):
    """The regions of some photos, one after another."""

    photos: Sequence[PhotoFeatures]
    views: Views
    X: Array  # (N, d) projected directions at unit length

    def each_place(self) -> Iterator[slice]:
        """Rows of one photo after the other."""
        start = 0
        for photo in self.photos:
            yield slice(start, start := start + len(photo.features))

    def each_photo(self) -> Iterator[tuple[slice, Floats, Array]]:
        """Rows, area and strengths of one photo after the other: strengths are too many to hold at once."""
        for rows, photo in zip(self.each_place(), self.photos, strict=True):
            yield rows, photo.area, compute_strengths(photo.features, self.views)


def pool_photo(area: Floats, strengths: Array) -> Array:
    """(D,) mean strengths of a photo."""
    return area.astype(np.float32) @ strengths
