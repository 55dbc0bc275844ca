"""Labels of regions from probabilities, and probabilities in 16 bits.

An index stores a probability p as the level round(65535 p); the error is at most 7.7e-6.
"""

from typing import NamedTuple

import numpy as np

from tagsight.types import Array, Floats, Ints

LEVELS = 65535
LEVEL = np.dtype("<u2")


def to_levels(probabilities: Array) -> Array:
    """(...) uint16 levels of probabilities in [0, 1]."""
    return np.rint(np.asarray(probabilities, np.float64) * LEVELS).astype(LEVEL)


def to_probabilities(levels: Array) -> Floats:
    """(...) float64 probabilities of levels."""
    return levels / np.float64(LEVELS)


class RegionLabels(NamedTuple):
    """The label of each region, and its probability."""

    label: Ints  # (R,) 0 background, 1.. objects
    probability: Floats  # (R,)

    def apply_threshold(self, threshold: float) -> Ints:
        """(R,) the labels with a probability of at least `threshold`; 0 elsewhere."""
        return np.where(self.probability >= threshold, self.label, 0)


def choose_labels(objects: Floats) -> RegionLabels:
    """The most probable label of each region, from probabilities of objects (R, K_o); background has the rest."""
    classes = add_background(objects)
    return RegionLabels(classes.argmax(axis=1), classes.max(axis=1))


def add_background(objects: Floats) -> Floats:
    """(R, 1 + K_o) probabilities of background and objects, from those of objects (R, K_o)."""
    return np.hstack([np.maximum(1.0 - objects.sum(axis=1, keepdims=True), 0.0), objects])
