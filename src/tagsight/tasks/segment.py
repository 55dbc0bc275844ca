"""Outline the objects of a photo."""

import numpy as np

from tagsight.features.described import DescribedPhoto
from tagsight.regions import paint_regions, resize_map
from tagsight.regions.dense_crf import refine_labels
from tagsight.trained import RegionPosterior
from tagsight.types import Array

THRESHOLD = 0.5


def segment_objects(photo: DescribedPhoto, posterior: RegionPosterior, *, threshold: float = THRESHOLD) -> Array:
    """(H, W) uint8 at the size of the whole photo: 0 background, 1.. objects in the model's order.

    A region is the object most probable in it, if that is at least as probable as `threshold`.
    """
    best = posterior.objects.argmax(axis=1)
    sure = posterior.objects.max(axis=1) >= threshold
    values = np.where(sure, best + 1, 0).astype(np.uint8)
    return resize_map(paint_regions(values, photo.labels), photo.size)


def refine_objects(
    photo: DescribedPhoto, posterior: RegionPosterior, pixels: Array, *, threshold: float = THRESHOLD
) -> Array:
    """As `segment_objects`, its edges drawn to those of RGB `pixels` at the scale of analysis by a dense CRF.

    Background counts as probable as `threshold`, so that without the field the two would agree.
    """
    background = np.full((len(posterior.objects), 1), threshold)
    return refine_probabilities(photo, np.hstack([background, posterior.objects]), pixels)


def refine_probabilities(photo: DescribedPhoto, probability: Array, pixels: Array) -> Array:
    """(H, W) uint8 labels from the regions' `probability` (R, L) of background and objects, any positive scale."""
    share = probability / np.maximum(probability.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    refined = refine_labels(paint_regions(share, photo.labels), pixels)
    return resize_map(refined.astype(np.uint8), photo.size)
