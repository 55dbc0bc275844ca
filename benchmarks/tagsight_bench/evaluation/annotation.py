"""How many of the attributes named first are right."""

import numpy as np

from tagsight.types import Array


def precision_at(score: Array, truth: Array, t: int) -> float:
    """Share of the t highest of `score` (K,) that `truth` (K,) has; among ties the earlier column comes first.

    The divisor is t even where the truth, or the vocabulary, has fewer.
    """
    first = np.argsort(-score, kind="stable")[:t]
    return float(np.sum(truth[first] != 0) / t)
