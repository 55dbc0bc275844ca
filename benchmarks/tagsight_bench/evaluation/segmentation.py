"""Segmentation: what a method paints against true masks.

Labels are those of an outline: 0 background, 1.. objects. Where every pixel is of some class (LabelMe Outdoor) there is
no background, and a region that the outline leaves to it takes the strongest object of the same scores.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from tagsight.demo.mask_measures import count_confusion
from tagsight.features.photo_features import PhotoFeatures
from tagsight.regions import paint_regions, resize_map
from tagsight.types import Array, Ints
from tagsight_bench.evaluation.method import MethodPrediction


def leave_no_background(seen: MethodPrediction) -> Ints:
    """(R,) the outline, with the strongest object where it has none."""
    return seen.classes[:, 1:].argmax(axis=1) + 1


def paint_labels(photo: PhotoFeatures, labels: Ints) -> Array:
    """(H, W) label of every pixel of the whole photo."""
    return resize_map(paint_regions(labels, photo.labels), photo.size)


def confuse_labels(
    photos: Sequence[PhotoFeatures], labels: Sequence[Ints], masks: Iterable[Array | None], n_classes: int
) -> Ints:
    """(n_classes, n_classes) pixels of photos that have a mask (H, W), by true and found label; VOID not counted."""
    confusion = np.zeros((n_classes, n_classes), np.int64)
    for photo, found, mask in zip(photos, labels, masks, strict=True):
        if mask is not None:
            confusion += count_confusion(mask, paint_labels(photo, found), n_classes)
    return confusion


def keep_tagged(seen: MethodPrediction, allowed: Array) -> MethodPrediction:
    """What is left of an answer where only the objects `allowed` (K_o,) can be in the photo.

    Scores of the others become minus infinity; a region outlined as one of them takes the strongest of what is left.
    """
    barred = np.where(allowed != 0, 0.0, -np.inf)
    return seen._replace(
        photo=seen.photo + barred,
        objects=seen.objects + barred,
        classes=seen.classes + np.append(0.0, barred),
    )
