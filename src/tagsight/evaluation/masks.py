"""Label maps against true ones."""

import numpy as np

from tagsight.types import Array, Floats, Ints

VOID = 255


def count_confusion(truth: Array, found: Array, n_classes: int) -> Ints:
    """(n_classes, n_classes) pixels by true and found label; pixels whose truth is VOID do not count."""
    known = truth != VOID
    pairs = truth[known].astype(np.int64) * n_classes + found[known]
    return np.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes)


def intersection_over_union(confusion: Ints) -> Floats:
    """(n_classes,) share of the pixels of a class, true or found, that are both; nan for a class that never occurs."""
    hit = np.diag(confusion).astype(np.float64)
    either = confusion.sum(axis=0) + confusion.sum(axis=1) - np.diag(confusion)
    return np.divide(hit, either, out=np.full(len(hit), np.nan), where=either > 0)
