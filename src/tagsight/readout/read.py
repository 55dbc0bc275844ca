"""Read the regions of new photos, tags unknown."""

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from tagsight.readout.kinship import spread_scores
from tagsight.readout.learn import Readout
from tagsight.readout.regions import Regions, pool_photo
from tagsight.types import Array, Floats

GATE = 0.5  # weight of the photo's own doubt about an object


class Reading(NamedTuple):
    """Scores of the regions of many photos."""

    classes: Floats  # (N, 1 + K_o) log-probability, up to a constant, of background and objects, one a region
    attributes: Floats  # (N, K_a) log-odds

    @property
    def objects(self) -> Floats:
        """(N, K_o) log-odds of each object against all else."""
        log_share = log_softmax(self.classes, axis=1)[:, 1:]
        return log_share - np.log(-np.expm1(np.minimum(log_share, -1e-12)))

    @property
    def margin(self) -> Floats:
        """(N,) score of the best object above the background's."""
        return self.classes[:, 1:].max(axis=1, initial=-np.inf) - self.classes[:, 0]


def read_regions(regions: Regions, readout: Readout) -> Reading:
    """What the readers say: objects less what the photo doubts and shared among kin, attributes by object."""
    n_regions = len(regions.X)
    classes = np.empty((n_regions, readout.objects.weights.shape[1]))
    attributes = np.empty((n_regions, readout.attributes.weights.shape[1]))
    for rows, area, strengths in regions.each_photo():
        scores = readout.objects.score(regions.X[rows])
        doubt = np.minimum(readout.cue.score(pool_photo(area, strengths)), 0.0)
        own = np.hstack([scores[:, :1] + np.float32(readout.bias), scores[:, 1:] + GATE * doubt])
        classes[rows] = spread_scores(own, regions.X[rows], area, readout.kinship)
        share = softmax(classes[rows], axis=1)[:, 1:]
        attributes[rows] = share_attributes(readout.attributes.score(strengths), share, area)
    return Reading(classes, attributes)


def share_attributes(own: Array, share: Floats, area: Floats) -> Floats:
    """(R, K_a) log-odds of the attributes of each region: those of the objects it may be.

    An object o has the mean of its regions' `own` log-odds (R, K_a), A_o = sum_j p_jo area_j own_j / sum_j p_jo area_j
    with p (R, K_o) the objects' share of each region; a region has sum_o p_jo A_o + (1 - sum_o p_jo) own_j.
    """
    weight = share * area[:, None]
    of_object = weight.T @ own / np.maximum(weight.sum(axis=0), np.finfo(np.float64).tiny)[:, None]
    return share @ of_object + (1.0 - share.sum(axis=1, keepdims=True)) * own
