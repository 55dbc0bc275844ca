"""Probabilities in 16 bits, as an index stores them: p is the level round(65535 p), off by at most 7.7e-6."""

import numpy as np

from tagsight.types import Array, Floats

LEVELS = 65535
LEVEL = np.dtype("<u2")


def to_levels(probabilities: Array) -> Array:
    """(...) uint16 of probabilities in [0, 1]."""
    return np.rint(np.asarray(probabilities, np.float64) * LEVELS).astype(LEVEL)


def to_probabilities(levels: Array) -> Floats:
    """(...) float64 of stored levels."""
    return levels / np.float64(LEVELS)
