"""What each region most probably is."""

from typing import NamedTuple

import numpy as np

from tagsight.types import Floats, Ints


class RegionLabels(NamedTuple):
    """The label of each region, and how probable it is."""

    label: Ints  # (R,) 0 background, 1.. objects
    share: Floats  # (R,)

    def keep_sure(self, threshold: float) -> Ints:
        """(R,) the labels that are at least as probable as `threshold`; 0 elsewhere."""
        return np.where(self.share >= threshold, self.label, 0)


def choose_labels(objects: Floats) -> RegionLabels:
    """The most probable of `objects` (R, K_o), or background, which has what a row lacks to one."""
    classes = add_background(objects)
    return RegionLabels(classes.argmax(axis=1), classes.max(axis=1))


def add_background(objects: Floats) -> Floats:
    """(R, 1 + K_o) probabilities: what the objects' (R, K_o) leave, and theirs."""
    return np.hstack([np.maximum(1.0 - objects.sum(axis=1, keepdims=True), 0.0), objects])
