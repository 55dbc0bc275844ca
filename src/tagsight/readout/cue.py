"""A classifier of whole photos by their tags, which also scores regions.

Features of a photo are the mean of those of its regions, so a linear classifier of photos says of each region what it
adds to the photo's score: class activation (Zhou et al., CVPR 2016).
"""

import numpy as np

from tagsight.readout.regression import Linear, fit_logistic
from tagsight.types import Array

STRENGTH = 1.0  # of the classifier, on features of unit spread over photos


def fit_cue(pooled: Array, targets: Array) -> Linear:
    """Learn `targets` (I, K) in [0, 1] from `pooled` strengths (I, D); applies to regions too."""
    centre = pooled.mean(axis=0)
    spread = max(float(pooled.std(axis=0).mean()), 1e-12)
    cue = fit_logistic((pooled - centre) / spread, targets, np.ones(1, np.float32), strength=STRENGTH)
    weights = cue.weights / np.float32(spread)
    return Linear(weights, cue.offset - centre @ weights)
