"""A classifier of whole photos by their tags, which also scores regions.

Features of a photo are the mean of those of its regions, so a linear classifier of photos says of each region what it
adds to the photo's score: class activation (Zhou et al., CVPR 2016).
"""

import numpy as np

from tagsight.classifiers.regression import Linear, Scaling, fit_logistic
from tagsight.classifiers.rows import Rows, measure_rows
from tagsight.types import Array

STRENGTH = 1.0  # of the classifier, on features of unit spread over photos


def fit_photo_classifier(pooled: Rows, targets: Array) -> Linear:
    """Learn `targets` (I, K) in [0, 1] from `pooled` strengths (I, D); applies to regions too."""
    centre, deviation = measure_rows(pooled)
    scaling = Scaling(max(float(deviation.mean()), 1e-12), centre.astype(np.float32))
    return fit_logistic(pooled, targets, strength=STRENGTH, scaling=scaling)
