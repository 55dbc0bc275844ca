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
