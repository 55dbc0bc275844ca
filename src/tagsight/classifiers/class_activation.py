"""Class activation: classifiers of photos by their tags, which score regions (Zhou et al., CVPR 2016).

Photos are bags of regions (`bags`). Those with a tag and those without weigh alike, so that a rare object is not
doubted for being rare.
"""

import numpy as np

from tagsight.classifiers.bags import Blocks, train_pooled
from tagsight.classifiers.regression import Linear
from tagsight.types import Array


def train_class_activation(photos: Blocks, d: int, truth: Array, penalty: float) -> Linear:
    """Classifiers of the tags `truth` (I, K) of photos whose regions are vectors (d,)."""
    positives = truth.sum(axis=0)
    weight = np.where(truth > 0, 0.5 / np.maximum(positives, 1), 0.5 / np.maximum(len(truth) - positives, 1))
    return train_pooled(photos, d, truth, weight, penalty)
