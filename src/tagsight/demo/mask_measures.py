"""Measures of label maps against true ones."""

import numpy as np

from tagsight.types import Array, Floats, Ints

VOID = 255


def count_confusion(truth: Array, found: Array, n_classes: int) -> Ints:
    """(n_classes, n_classes) pixels by true and found label; pixels whose true label is VOID are left out."""
    known = truth != VOID
    pairs = truth[known].astype(np.int64) * n_classes + found[known]
    return np.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes)


def compute_iou(confusion: Array) -> Floats:
    """(n_classes,) pixels of a class in both maps over those in either; nan for a class in neither map."""
    hit = np.diag(confusion).astype(np.float64)
    either = confusion.sum(axis=0) + confusion.sum(axis=1) - np.diag(confusion)
    return np.divide(hit, either, out=np.full(len(hit), np.nan), where=either > 0)


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
