"""A photo as the model sees it: regions with their vectors, their graph and the way back to pixels."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.data.photo import Photo, read_photo
from tagsight.features.extractor import FeatureExtractor
from tagsight.features.views import Block
from tagsight.regions import segment_photo
from tagsight.types import Array, Floats

N_REGIONS = 80
MAX_REGIONS = 2000  # the region classifiers hold a matrix with a row and a column per region


class PhotoFeatures(NamedTuple):
    """Regions of one photo."""

    features: Array  # (R, D) float16
    labels: Array  # (h, w) int32, at the scale of analysis
    edges: Array  # (E, 2) int32
    boundary: Array  # (E,) float32
    size: tuple[int, int]  # (W, H) of the whole photo
    blocks: tuple[Block, ...] = ()  # what a vector is made of; none: one block

    @property
    def area(self) -> Floats:
        """(R,) share of the photo that each region covers."""
        return np.bincount(self.labels.ravel(), minlength=len(self.features)) / self.labels.size

    @property
    def edge_weights(self) -> Floats:
        """Shared boundary over its mean in the photo: 1 on average, whatever the photo's size."""
        mean = float(self.boundary.mean()) if len(self.boundary) else 1.0
        return self.boundary.astype(np.float64) / mean


def extract_photo(path: Path, extractor: FeatureExtractor, *, n_regions: int = N_REGIONS) -> PhotoFeatures:
    """Read, cut and describe a photo; vectors are rounded to half precision, cached or not."""
    return extract_pixels(read_photo(path), extractor, n_regions=n_regions)


def extract_pixels(photo: Photo, extractor: FeatureExtractor, *, n_regions: int = N_REGIONS) -> PhotoFeatures:
    """As `extract_photo`, for a photo already read."""
    regions = segment_photo(photo.pixels, n_regions)
    features = extractor.extract(photo.pixels, regions.labels).astype(np.float16)
    return PhotoFeatures(features, regions.labels, regions.edges, regions.boundary, photo.size, extractor.blocks)
