"""Outline the objects of a photo."""

import numpy as np

from tagsight.features.described import DescribedPhoto
from tagsight.regions import paint_regions, resize_map
from tagsight.trained import RegionPosterior
from tagsight.types import Array, Ints

THRESHOLD = 0.5


def segment_objects(photo: DescribedPhoto, posterior: RegionPosterior, *, threshold: float = THRESHOLD) -> Array:
    """(H, W) uint8 at the size of the whole photo: 0 background, 1.. objects in the model's order."""
    values = label_regions(posterior, threshold).astype(np.uint8)
    return resize_map(paint_regions(values, photo.labels), photo.size)


def label_regions(posterior: RegionPosterior, threshold: float) -> Ints:
    """(R,) 0 background, 1.. objects: the one most probable in a region, if at least as probable as `threshold`."""
    best = posterior.objects.argmax(axis=1)
    return np.where(posterior.objects.max(axis=1) >= threshold, best + 1, 0)
