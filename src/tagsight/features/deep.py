"""The `deep` description of a region: network features averaged over it, beside its colours.

A region's vector is the concatenation of blocks,

    pooled map 1, pooled map 2, ..., sqrt(Lab histogram),

as they come (`features.views` weighs them). The square root of a histogram has unit length, and Euclidean distance
between such roots is Hellinger's distance between the histograms. The network was trained to ignore colour where
classes do; colour words need the histogram. Maps may be taken at different sizes of the photo: fine ones tell where
things end, coarse ones, at which things have the size the network was trained on, tell what they are.
"""

from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from tagsight.errors import InputError
from tagsight.features.backbone import Backbone, FeatureMap
from tagsight.features.colour import count_colours
from tagsight.features.pooling import Interpolation, pool_map, weigh_cells
from tagsight.features.views import Block
from tagsight.types import Array


class MapUse(NamedTuple):
    """How a map of the network is used."""

    name: str
    direction_weight: float = 1.0  # see `features.views`
    strength_weight: float = 1.0
    zoom: float = 1.0  # of the photo, beside the size at which the network usually sees it


class DeepSettings(NamedTuple):
    """Which blocks a region's vector has, and their weights. The defaults are for the built-in network."""

    maps: tuple[MapUse, ...] = (MapUse("s16", 0.7, 0.5), MapUse("s32"), MapUse("head", 0.3, 1.0, zoom=0.6))
    interpolation: Interpolation = "bilinear"
    colour_weight: float = 0.5
    colour_bins: int = 8
    colour_soft: bool = True

    @classmethod
    def for_every_map(cls, backbone: Backbone) -> Self:
        """Settings for a network of the user: all its maps, equally weighted."""
        return cls(maps=tuple(MapUse(name) for name in backbone.map_names))


DEFAULTS = DeepSettings()


def extract_regions(pixels: Array, labels: Array, backbone: Backbone, *, settings: DeepSettings = DEFAULTS) -> Array:
    """(R, D) float32: the vectors of the regions of `labels` (h, w) on RGB `pixels` (h, w, 3) uint8."""
    if pixels.shape[:2] != labels.shape:
        raise InputError(f"pixels {pixels.shape} and labels {labels.shape} are not of one photo")
    maps = _compute_maps(pixels, backbone, settings)
    blocks = _pool_maps(maps, labels, settings)
    colours = count_colours(pixels, labels, bins=settings.colour_bins, soft=settings.colour_soft)
    return np.hstack([*blocks, np.sqrt(colours)])


def list_blocks(backbone: Backbone, settings: DeepSettings = DEFAULTS) -> tuple[Block, ...]:
    """The blocks of a vector, in order."""
    maps = _compute_maps(np.zeros((24, 32, 3), np.uint8), backbone, settings)  # 4:3, as most photos are
    uses = zip(maps, settings.maps, strict=True)
    return (
        *(Block(seen.values.shape[2], use.direction_weight, use.strength_weight) for seen, use in uses),
        Block(settings.colour_bins**3, settings.colour_weight, 1.0),
    )


def _compute_maps(pixels: Array, backbone: Backbone, settings: DeepSettings) -> list[FeatureMap]:
    """Maps in the order of the settings; the network runs once for each zoom."""
    seen: dict[str, FeatureMap] = {}
    for zoom in dict.fromkeys(use.zoom for use in settings.maps):
        names = tuple(use.name for use in settings.maps if use.zoom == zoom)
        seen.update(zip(names, backbone.maps(pixels, names, zoom=zoom), strict=True))
    return [seen[use.name] for use in settings.maps]


def _pool_maps(maps: list[FeatureMap], labels: Array, settings: DeepSettings) -> list[Array]:
    """Cells are weighed once for all maps on the same grid."""
    grids: dict[tuple[int, int], sparse.csr_array] = {}
    blocks: list[Array] = []
    for feature_map in maps:
        rows, columns, _ = feature_map.values.shape
        if (rows, columns) not in grids:
            grids[rows, columns] = weigh_cells(labels, rows, columns, interpolation=settings.interpolation)
        blocks.append(pool_map(feature_map.values, grids[rows, columns]))
    return blocks
