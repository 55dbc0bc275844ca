"""The processors' share of describing a photo whose network runs elsewhere: all but the network and its pooling."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from tagsight.data.photo import read_photo
from tagsight.features.backbone import Backbone
from tagsight.features.colour import count_colours
from tagsight.features.deep import DeepSettings
from tagsight.features.pooling import weigh_cells
from tagsight.regions import segment_photo
from tagsight.types import Array

STRIDES = {"s16": 16, "s32": 32, "head": 32}  # of the built-in network's maps


class PreparedPhoto(NamedTuple):
    """A photo cut into regions, ready for the network."""

    images: dict[float, Array]  # (H, W, 3) uint8 for each zoom
    weights: tuple[sparse.csr_array, ...]  # (R, cells) for each map of the settings
    colours: Array  # (R, bins^3) float32
    labels: Array
    edges: Array
    boundary: Array
    size: tuple[int, int]


def prepare_photo(path: Path, backbone: Backbone, settings: DeepSettings, *, n_regions: int) -> PreparedPhoto:
    """Read and cut a photo, and see to what `deep.extract_regions` does beside the network and its pooling."""
    photo = read_photo(path)
    regions = segment_photo(photo.pixels, n_regions)
    images = {use.zoom: backbone.resize(photo.pixels, zoom=use.zoom) for use in settings.maps}
    weights = weigh_maps(regions.labels, images, settings)
    colours = count_colours(photo.pixels, regions.labels, bins=settings.colour_bins, soft=settings.colour_soft)
    return PreparedPhoto(
        images,
        weights,
        np.sqrt(colours),
        regions.labels,
        regions.edges,
        regions.boundary,
        photo.size,
    )


def weigh_maps(labels: Array, images: dict[float, Array], settings: DeepSettings) -> tuple[sparse.csr_array, ...]:
    """The shares of cells in regions for each map; cells are weighed once for all maps on the same grid."""
    grids = [tuple(side // STRIDES[use.name] for side in images[use.zoom].shape[:2]) for use in settings.maps]
    weights = {grid: weigh_cells(labels, *grid, interpolation=settings.interpolation) for grid in dict.fromkeys(grids)}
    return tuple(weights[grid] for grid in grids)
