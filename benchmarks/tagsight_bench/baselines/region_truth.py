"""Regions against true masks: the label of each, and what labels found are worth."""

import numpy as np

from tagsight.demo.mask_measures import VOID, mean_iou
from tagsight.features.photo_features import PhotoFeatures
from tagsight.regions import resize_map
from tagsight.types import Array, Floats, Ints


def label_regions(photo: PhotoFeatures, mask: Array, n_labels: int) -> Ints:
    """(R,) the label most pixels of each region have; VOID where no pixel is labelled."""
    regions = resize_map(photo.labels, photo.size)
    known = mask != VOID
    counts = np.zeros((len(photo.features), n_labels), np.int64)
    np.add.at(counts, (regions[known], mask[known]), 1)
    return np.where(counts.any(axis=1), counts.argmax(axis=1), VOID)


def overlap_regions(truth: Ints, found: Ints, area: Floats, n_labels: int) -> float:
    """Mean IoU of the labels (N,) found, regions by their area (N,)."""
    confusion = np.zeros((n_labels, n_labels))
    np.add.at(confusion, (truth, found), area)
    return mean_iou(confusion)
