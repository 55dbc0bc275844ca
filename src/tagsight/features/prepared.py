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

    images: dict[float, Array]  # (3, H, W) float32 for each zoom
    weights: tuple[sparse.csr_array, ...]  # (R, cells) for each map of the settings
    colours: Array  # (R, bins^3) float32
    labels: Array
    edges: Array
    boundary: Array
    size: tuple[int, int]


def prepare_photo(path: Path, backbone: Backbone, settings: DeepSettings, *, n_regions: int) -> PreparedPhoto:
    """Read and cut a photo, and see to what `deep.describe_regions` does beside the network and its pooling."""
    photo = read_photo(path)
    regions = segment_photo(photo.pixels, n_regions)
    zooms = dict.fromkeys(use.zoom for use in settings.maps)
    images = {zoom: backbone.prepare(photo.pixels, zoom=zoom)[0] for zoom in zooms}
    grids = [tuple(side // STRIDES[use.name] for side in images[use.zoom].shape[1:]) for use in settings.maps]
    weights = {
        grid: weigh_cells(regions.labels, *grid, interpolation=settings.interpolation) for grid in dict.fromkeys(grids)
    }
    colours = count_colours(photo.pixels, regions.labels, bins=settings.colour_bins, soft=settings.colour_soft)
    return PreparedPhoto(
        images,
        tuple(weights[grid] for grid in grids),
        np.sqrt(colours),
        regions.labels,
        regions.edges,
        regions.boundary,
        photo.size,
    )
