"""Adjacency of regions: which pairs touch and along how many pixels; and bounding boxes."""

from typing import NamedTuple

import numpy as np
from scipy import ndimage

from tagsight.types import Array


class Adjacency(NamedTuple):
    """Pairs of regions that share at least one pixel side, sorted."""

    edges: Array  # (E, 2) int32, a < b
    boundary: Array  # (E,) float32, number of shared pixel sides


def measure_adjacency(labels: Array) -> Adjacency:
    """The adjacent regions of a label map (h, w); pixels are neighbours across a side, not a corner."""
    pairs = np.concatenate([_list_sides(labels[:, :-1], labels[:, 1:]), _list_sides(labels[:-1], labels[1:])])
    n_regions = int(labels.max()) + 1
    keys, counts = np.unique(pairs[:, 0] * n_regions + pairs[:, 1], return_counts=True)
    edges = np.stack(np.divmod(keys, n_regions), axis=1)
    return Adjacency(edges.astype(np.int32), counts.astype(np.float32))


def _list_sides(before: Array, after: Array) -> Array:
    """(P, 2) int64, lower id first: the regions on both sides of each pixel side between two regions."""
    differ = before != after
    one, other = before[differ].astype(np.int64), after[differ].astype(np.int64)
    return np.stack([np.minimum(one, other), np.maximum(one, other)], axis=1)


def find_boxes(labels: Array) -> Array:
    """(R, 4) int32 boxes x0, y0, x1, y1 of the regions 0..R-1; x1 and y1 are exclusive."""
    slices = ndimage.find_objects(labels + 1)
    return np.array([(x.start, y.start, x.stop, y.stop) for y, x in slices], np.int32)
