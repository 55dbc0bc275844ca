"""The `deep` description of a region: network features averaged over it, beside its colours.

A region's vector is the concatenation of blocks,

    w_1 u(pooled map 1), w_2 u(pooled map 2), ..., w_colour sqrt(Lab histogram),     u(v) = v / |v|,

each block of unit length before its weight w (the square root of a histogram has unit length as it is, and
Euclidean distance between such roots is Hellinger's distance between the histograms). The network was
trained to ignore colour where classes do; colour words need the histogram.
"""

from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from tagsight.errors import InputError
from tagsight.features.backbone import Backbone, FeatureMap
from tagsight.features.colour import count_colours
from tagsight.features.pooling import Interpolation, pool_map, weigh_cells
from tagsight.types import Array


class DeepSettings(NamedTuple):
    """Which blocks a region's vector has, and their weights. The defaults are for the built-in network."""

    maps: tuple[tuple[str, float], ...] = (("s16", 0.5), ("s32", 1.0), ("head", 0.5))  # name, weight
    interpolation: Interpolation = "bilinear"
    colour_weight: float = 0.5
    colour_bins: int = 8
    colour_soft: bool = True

    @classmethod
    def for_every_map(cls, backbone: Backbone) -> Self:
        """Settings for a backbone about which nothing is known: all its maps, equally weighted."""
        return cls(maps=tuple((name, 1.0) for name in backbone.map_names))


DEFAULTS = DeepSettings()


def describe_regions(pixels: Array, labels: Array, backbone: Backbone, *, settings: DeepSettings = DEFAULTS) -> Array:
    """(R, D) float32: the vectors of the regions of `labels` (h, w) on RGB `pixels` (h, w, 3) uint8."""
    if pixels.shape[:2] != labels.shape:
        raise InputError(f"pixels {pixels.shape} and labels {labels.shape} are not of one photo")
    maps = backbone.maps(pixels, tuple(name for name, _ in settings.maps))
    blocks = _pool_maps(maps, labels, settings)
    colours = count_colours(pixels, labels, bins=settings.colour_bins, soft=settings.colour_soft)
    return np.hstack([*blocks, np.float32(settings.colour_weight) * np.sqrt(colours)])


def _pool_maps(maps: list[FeatureMap], labels: Array, settings: DeepSettings) -> list[Array]:
    """Cells are weighed once for all maps on the same grid."""
    grids: dict[tuple[int, int], sparse.csr_array] = {}
    blocks = []
    for feature_map, (_, weight) in zip(maps, settings.maps, strict=True):
        _, rows, columns = feature_map.values.shape
        if (rows, columns) not in grids:
            grids[rows, columns] = weigh_cells(labels, rows, columns, interpolation=settings.interpolation)
        blocks.append(np.float32(weight) * _normalise(pool_map(feature_map.values, grids[rows, columns])))
    return blocks


def _normalise(vectors: Array) -> Array:
    """Rows to unit length; a row of zeros, the one vector without a direction, stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
