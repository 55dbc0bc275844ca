"""A classifier of whole photos by their tags, which also scores regions.

Features of a photo are the mean of those of its regions, so a linear classifier of photos says of each region what it
adds to the photo's score: class activation (Zhou et al., CVPR 2016).
"""

import numpy as np

from tagsight.readout.regression import Linear, fit_logistic
from tagsight.types import Array

STRENGTH = 1.0  # of the classifier, on features of unit spread over photos
WEIGHT_BESIDE = np.float32(5.0)  # a feature beside a thousand others must be loud to be heard


def fit_cue(pooled: Array, targets: Array) -> Linear:
    """Learn `targets` (I, K) in [0, 1] from `pooled` strengths (I, D); applies to regions too."""
    cue, _ = fit_cue_beside(pooled, np.zeros((len(pooled), 0), np.float32), targets)
    return cue


def fit_cue_beside(pooled: Array, beside: Array, targets: Array) -> tuple[Linear, Array]:
    """As `fit_cue`, with more features `beside` (I, B) the strengths; their weights (B, K) come second."""
    centre = pooled.mean(axis=0)
    spread = np.float32(max(float(pooled.std(axis=0).mean()), 1e-12))
    features = np.hstack([(pooled - centre) / spread, WEIGHT_BESIDE * beside])
    cue = fit_logistic(features, targets, np.ones(1, np.float32), strength=STRENGTH)
    weights, company = np.split(cue.weights, [pooled.shape[1]])
    weights = weights / spread
    return Linear(weights, cue.offset - centre @ weights), WEIGHT_BESIDE * company
