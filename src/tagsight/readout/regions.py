"""The regions of photos as readers take them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tagsight.features.described import DescribedPhoto
from tagsight.features.views import Views, see_strengths
from tagsight.types import Array, Floats, Ints


class Regions(NamedTuple):
    """The regions of many photos, one after another."""

    photos: Sequence[DescribedPhoto]
    views: Views
    X: Array  # (N, d) projected directions at unit length

    @property
    def starts(self) -> Ints:
        """(I + 1,) where each photo's regions begin."""
        return np.cumsum([0, *(len(photo.features) for photo in self.photos)])

    @property
    def area(self) -> Floats:
        """(N,) share of the photo."""
        return np.concatenate([photo.area for photo in self.photos])

    def each_place(self) -> Iterator[tuple[slice, Floats]]:
        """Rows and area of one photo after the other."""
        for start, photo in zip(self.starts, self.photos, strict=False):
            yield slice(start, start + len(photo.features)), photo.area

    def each_photo(self) -> Iterator[tuple[slice, Floats, Array]]:
        """Rows, area and strengths of one photo after the other: strengths are too many to hold at once."""
        for (rows, area), photo in zip(self.each_place(), self.photos, strict=True):
            yield rows, area, see_strengths(photo.features, self.views)

    def pool_photos(self) -> Array:
        """(I, D) mean strengths of each photo."""
        return np.stack([area.astype(np.float32) @ strengths for _, area, strengths in self.each_photo()])
