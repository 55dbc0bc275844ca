"""Segmentation of a photo into regions, with their adjacency graph."""

from typing import NamedTuple

import numpy as np

from tagsight.errors import InputError
from tagsight.regions.contour import measure_contour
from tagsight.regions.graph import measure_adjacency
from tagsight.regions.hierarchy import cut_hierarchy
from tagsight.types import Array


class Regions(NamedTuple):
    """The regions 0..R-1 of a photo: each is 4-connected and not empty, and every pixel is in one."""

    labels: Array  # (h, w) int32
    edges: Array  # (E, 2) int32, a < b, sorted: neighbouring regions
    boundary: Array  # (E,) float32, number of shared pixel sides


def segment_photo(pixels: Array, n_regions: int = 80) -> Regions:
    """Segment RGB `pixels` (h, w, 3) uint8 into `n_regions` regions, or fewer where there are too few contours.

    A photo of one colour is one region. The same pixels always give the same regions.
    """
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.size == 0 or pixels.dtype != np.uint8:
        raise InputError(f"pixels must be a non-empty (h, w, 3) array of uint8, not {pixels.shape} {pixels.dtype}")
    if n_regions < 1:
        raise InputError(f"cannot cut a photo into {n_regions} regions; ask for 1 or more")
    labels = cut_hierarchy(measure_contour(pixels), n_regions)
    adjacency = measure_adjacency(labels)
    return Regions(labels, adjacency.edges, adjacency.boundary)
