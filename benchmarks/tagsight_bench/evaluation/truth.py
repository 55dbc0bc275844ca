"""Ground truth of photos: instances with boxes and attributes, as columns of a vocabulary."""

from typing import NamedTuple

import numpy as np

from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array, Floats, Ints


class Instances(NamedTuple):
    """The annotated objects of one photo."""

    objects: Ints  # (B,) columns
    boxes: Ints  # (B, 4) x0 y0 x1 y1 in the full-size photo, the end exclusive
    attributes: Array  # (B, K_a) 0 or 1


def measure_overlap(photo: PhotoFeatures, region: int, boxes: Array) -> Floats:
    """(B,) share of a region's pixels whose centres are in each box."""
    rows, columns = np.nonzero(photo.labels == region)
    h, w = photo.labels.shape
    width, height = photo.size
    x, y = (columns + 0.5) * width / w, (rows + 0.5) * height / h
    x0, y0, x1, y1 = boxes.T[:, :, None]
    return ((x >= x0) & (x < x1) & (y >= y0) & (y < y1)).mean(axis=1)


def pick_overlapping(photo: PhotoFeatures, region: int, boxes: Array) -> int:
    """Index of the box that covers most of the region; among equals the smallest, then the first."""
    overlap = measure_overlap(photo, region, boxes)
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return int(np.lexsort((area, -overlap))[0])
