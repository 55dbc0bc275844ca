"""Segmentation: predicted labels against true masks.

Labels are 0 for background and 1.. for objects. In collections without background (LabelMe Outdoor), a region labelled
background takes the object with the highest score instead.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from tagsight.demo.mask_measures import count_confusion
from tagsight.features.photo_features import PhotoFeatures
from tagsight.regions import paint_regions, resize_map
from tagsight.types import Array, Ints
from tagsight_bench.evaluation.method import MethodPrediction


def label_without_background(prediction: MethodPrediction) -> Ints:
    """(R,) the object with the highest class score, 1.. ."""
    return prediction.classes[:, 1:].argmax(axis=1) + 1


def paint_labels(photo: PhotoFeatures, labels: Ints) -> Array:
    """(H, W) label of every pixel at the photo's full size."""
    return resize_map(paint_regions(labels, photo.labels), photo.size)


def count_label_confusion(
    photos: Sequence[PhotoFeatures], labels: Sequence[Ints], masks: Iterable[Array | None], n_classes: int
) -> Ints:
    """(n_classes, n_classes) pixel counts by true and predicted label in photos with a mask (H, W); VOID is skipped."""
    confusion = np.zeros((n_classes, n_classes), np.int64)
    for photo, predicted, mask in zip(photos, labels, masks, strict=True):
        if mask is not None:
            confusion += count_confusion(mask, paint_labels(photo, predicted), n_classes)
    return confusion


def restrict_objects(prediction: MethodPrediction, allowed: Array) -> MethodPrediction:
    """The prediction with the scores of objects that are not `allowed` (K_o,) set to minus infinity."""
    excluded = np.where(allowed != 0, 0.0, -np.inf)
    return prediction._replace(
        photo=prediction.photo + excluded,
        objects=prediction.objects + excluded,
        classes=prediction.classes + np.append(0.0, excluded),
    )
