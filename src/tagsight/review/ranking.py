"""Priorities of photos and words in the queues, as functions of arrays. Each may be replaced without the others.

Every priority is (I, K), the highest first; NaN where the pair does not belong to the queue.
"""

import numpy as np

from tagsight.types import Array, Floats


def rank_missing(probability: Array, tagged: Array) -> Array:
    """The probability of words that photos do not have as tags: the highest are probably missing."""
    return np.where(tagged, np.float32(np.nan), probability)


def rank_doubtful(probability: Array, tagged: Array) -> Array:
    """One minus the self-confidence of tags: the least probable tags are probably wrong.

    The self-confidence of a label is the probability that a model gives it. Ranking by it finds label errors
    (Northcutt, Jiang and Chuang, Confident Learning, JAIR 2021), if the probabilities are out of sample: a model that
    was trained on a wrong tag is more confident of it than it should be.
    """
    return np.where(tagged, 1 - probability, np.float32(np.nan))


def compute_uncertainty(probability: Array) -> Floats:
    """(I, K) entropy in bits of whether a photo has a word; 0 where it is not predicted."""
    p = np.nan_to_num(probability.astype(np.float64))
    tiny = np.finfo(np.float64).tiny
    return -p * np.log2(np.maximum(p, tiny)) - (1 - p) * np.log2(np.maximum(1 - p, tiny))
