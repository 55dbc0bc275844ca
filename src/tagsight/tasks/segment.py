"""Outline the objects of a photo."""

import numpy as np

from tagsight.features.described import DescribedPhoto
from tagsight.regions import paint_regions, resize_map
from tagsight.trained import RegionPosterior
from tagsight.types import Array, Ints


def segment_objects(photo: DescribedPhoto, posterior: RegionPosterior, *, threshold: float = 0.0) -> Array:
    """(H, W) uint8 at the size of the whole photo: 0 background, 1.. objects in the model's order."""
    values = label_regions(posterior, threshold).astype(np.uint8)
    return resize_map(paint_regions(values, photo.labels), photo.size)


def label_regions(posterior: RegionPosterior, threshold: float) -> Ints:
    """(R,) 0 background, 1.. objects: what each region most probably is, if the score is at least `threshold`."""
    sure = posterior.objects.max(axis=1, initial=0.0) >= threshold
    return np.where(sure, posterior.outline, 0)
