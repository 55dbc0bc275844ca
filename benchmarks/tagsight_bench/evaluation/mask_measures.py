"""Means of measures of label maps against true ones."""

import numpy as np

from tagsight.demo.mask_measures import compute_iou
from tagsight.types import Array, Ints


def mean_iou(confusion: Array) -> float:
    """Mean over the classes that occur."""
    return average_defined(compute_iou(confusion))


def mean_object_iou(confusion: Ints) -> float:
    """Mean over the objects that occur; background (0) is left out, but counts as a wrong label."""
    return average_defined(compute_iou(confusion)[1:])


def pixel_accuracy(confusion: Ints) -> float:
    """Share of the pixels that have their true label; nan if there are no pixels."""
    total = confusion.sum()
    return float(np.diag(confusion).sum() / total) if total else float("nan")


def class_accuracy(confusion: Ints) -> float:
    """Mean over the true classes of the share of their pixels that have the true label."""
    total = confusion.sum(axis=1)
    hit = np.diag(confusion).astype(np.float64)
    return average_defined(np.divide(hit, total, out=np.full(len(hit), np.nan), where=total > 0))


def average_defined(values: Array) -> float:
    """Mean of the values that are not nan; nan if all are."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
