"""A photo as the model sees it: regions with their vectors, their graph and the way back to pixels."""

from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from tagsight.data.photo import Photo, read_photo
from tagsight.errors import InputError
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


def to_tensors(photo: PhotoFeatures) -> dict[str, Array]:
    """The photo as tensors to store; labels as PNG, which compresses them tenfold."""
    ok, png = cv2.imencode(".png", photo.labels.astype(np.uint16))
    if not ok:
        raise InputError(f"a label map of shape {photo.labels.shape} cannot be stored")
    return {
        "features": photo.features,
        "labels": png.ravel(),
        "edges": photo.edges,
        "boundary": photo.boundary,
        "size": np.array(photo.size, np.int64),
        "blocks": np.array(photo.blocks, np.float64).reshape(-1, len(Block._fields)),
    }


def to_photo_features(tensors: dict[str, Array]) -> PhotoFeatures:
    """The photo that gave these tensors."""
    labels = np.asarray(cv2.imdecode(tensors["labels"], cv2.IMREAD_UNCHANGED))
    width, height = tensors["size"].tolist()
    return PhotoFeatures(
        tensors["features"],
        labels.astype(np.int32),
        tensors["edges"],
        tensors["boundary"],
        (width, height),
        tuple(Block(int(length), *weights) for length, *weights in tensors["blocks"].tolist()),
    )
