"""Read the regions of new photos, tags unknown."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from tagsight.readout.kinship import spread_scores
from tagsight.readout.learn import Readout
from tagsight.readout.regions import Regions
from tagsight.types import Floats, Ints

GATE = 0.5  # weight of the photo's own doubt about an object


class Reading(NamedTuple):
    """Log-odds of the regions of many photos."""

    objects: Floats  # (N, K_o)
    attributes: Floats  # (N, K_a)
    photo: Floats  # (I, K_o) of the photo as a whole
    margin: Floats  # (N,) score of the best object above the background's

    @property
    def outline(self) -> Ints:
        """(N,) 0 background, 1.. objects."""
        return np.where(self.margin > 0, self.objects.argmax(axis=1) + 1, 0)


def read_regions(regions: Regions, readout: Readout) -> Reading:
    """What the readers say, less what the photo as a whole doubts, shared among kin."""
    scores = readout.objects.score(regions.X)
    scores[:, 0] += readout.bias
    photo = readout.cue.score(regions.pool_photos())
    n_objects = scores.shape[1] - 1
    settled = np.empty(scores.shape)
    attributes = np.empty((len(scores), readout.attributes.weights.shape[1]))
    for (rows, area, strengths), doubt in zip(regions.each_photo(), np.minimum(photo, 0.0), strict=True):
        own = np.hstack([scores[rows, :1], scores[rows, 1:] + GATE * doubt, readout.attributes.score(strengths)])
        shared = spread_scores(own, regions.X[rows], area, readout.kinship)
        settled[rows], attributes[rows] = shared[:, : n_objects + 1], shared[:, n_objects + 1 :]
    margin = settled[:, 1:].max(axis=1, initial=-np.inf) - settled[:, 0]
    return Reading(_odds(settled)[:, 1:], attributes, photo, margin)


def _odds(scores: Floats) -> Floats:
    """(N, C) log-odds of each class against all others under a softmax of `scores`."""
    log_share = scores - logsumexp(scores, axis=1, keepdims=True)
    return log_share - np.log(-np.expm1(np.minimum(log_share, -1e-12)))
