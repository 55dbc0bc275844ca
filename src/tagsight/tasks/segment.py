"""Outline the objects of a photo."""

import numpy as np

from tagsight.features.described import DescribedPhoto
from tagsight.regions import paint_regions, resize_map
from tagsight.trained import RegionPosterior
from tagsight.types import Array, Floats, Ints

THRESHOLD = 0.5


def segment_objects(photo: DescribedPhoto, posterior: RegionPosterior, *, threshold: float = THRESHOLD) -> Array:
    """(H, W) uint8 at the size of the whole photo: 0 background, 1.. objects in the model's order.

    A region is the object most probable in it, if that is at least as probable as `threshold`.
    """
    values = label_objects(posterior.objects, threshold=threshold)
    return resize_map(paint_regions(values.astype(np.uint8), photo.labels), photo.size)


def label_objects(objects: Floats, *, threshold: float = THRESHOLD) -> Ints:
    """(R,) from probabilities (R, K_o): 0, or 1.. for the most probable object if it reaches `threshold`."""
    return np.where(objects.max(axis=1) >= threshold, objects.argmax(axis=1) + 1, 0)
