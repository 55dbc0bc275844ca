"""What a photo looks like as a whole, as evidence of its objects and as prior of its regions.

Object o is in photo i if L_io = 1, as its tags say in training. The mean vector of the photo's regions deviates from
the usual one by what its objects add,

    L_io ~ Bern(rho_o),    mean_i - mu ~ N(sum_o (L_io - rho_o) B_o, Psi),

which is the model of attributes one level up (`model.object_attributes`). For a photo without tags it gives log-odds
of each object, linear in the mean vector. With the log-odds of the object's clearest region, calibrated on held-out
photos, they give P_io, the probability that the object is in the photo; and a region is the object with a probability
in proportion to P_io^strength. docs/explanation/model.md, section 13, says why.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import log_expit, logsumexp

from tagsight.features.codebook import Projection, project
from tagsight.features.photo_features import PhotoFeatures
from tagsight.model.object_attributes import RAREST, SUREST, Deviations, solve_effects
from tagsight.types import Array, Floats

BLOCK = 64  # photos; sums are taken block by block
LEAST = -700.0  # log-probability of a region to be no object


class PhotoPrior(NamedTuple):
    """Mean vector of a photo's regions, as they were described -> log-odds of its objects."""

    weights: Array  # (D, K_o) float32
    offset: Array  # (K_o,) float32
    strength: float  # of P_io as a prior of regions; 0: regions do not heed it

    def score(self, photos: Iterable[PhotoFeatures]) -> Floats:
        """(I, K_o) log-odds that each object is in the photo, from all of its regions together."""
        weights = self.weights.astype(np.float64)
        means = [average_regions(photo) @ weights for photo in photos]
        return np.reshape(means, (len(means), weights.shape[1])) + self.offset


def average_regions(photo: PhotoFeatures) -> Floats:
    """(D,) mean over the photo's area."""
    return photo.area @ photo.features.astype(np.float64) / photo.area.sum()


def learn_photo_prior(
    photos: Sequence[PhotoFeatures], objects: Array, standard: Projection, strength: float
) -> PhotoPrior:
    """From photos and their tags of objects (I, K_o), seen through `standard`."""
    n_photos, n_objects = objects.shape
    rates = objects.mean(axis=0, dtype=np.float64)
    sums, total = Deviations.none(n_objects, standard.basis.shape[1]), np.zeros(standard.basis.shape[1])
    for first in range(0, n_photos, BLOCK):
        here = range(first, min(first + BLOCK, n_photos))
        means = np.stack([average_regions(photos[i]) for i in here])
        seen = project(means, standard).astype(np.float64)
        sums = sums.add(objects[here.start : here.stop] - rates, seen, np.ones(len(seen)))
        total += seen.sum(axis=0)
    mu = total / max(n_photos, 1)
    sums = sums._replace(square=sums.square - n_photos * np.outer(mu, mu))
    prior_log_odds = solve_effects(np.clip(rates, RAREST, SUREST)[None], sums)
    at_mean = prior_log_odds.weigh(np.zeros((1, len(mu))), np.zeros(1, int))[0] + prior_log_odds.prior_odds[0]
    weights = standard.basis.astype(np.float64) @ prior_log_odds.weights.T
    offset = at_mean - prior_log_odds.weights @ (standard.offset + mu)
    return PhotoPrior(weights.astype(np.float32), offset.astype(np.float32), strength)


class AdjustedScores(NamedTuple):
    """Regions in the light of their photos."""

    classes: Floats  # (N, 1 + K_o) log-probabilities of none of the objects and of each, up to a constant
    objects: Floats  # (N, K_o) log-odds of each object


def apply_photo_prior(log_odds: Array, n_objects: int, log_prior: Floats, *, exclusive: bool) -> AdjustedScores:
    """Each object's probability in a region times exp(`log_prior`) (N, K_o), from log-odds (N, K) of all factors.

    Of `exclusive` factors one at most is on in a region, and what objects lose goes to the others and to none of them.
    """
    odds = log_odds[:, :n_objects].astype(np.float64)
    if not exclusive or not n_objects:
        odds += log_prior
        return AdjustedScores(np.hstack([np.zeros((len(odds), 1)), odds]), odds)
    share = log_expit(odds)
    rest = _find_rest(odds, share, log_expit(log_odds[:, n_objects:].astype(np.float64)))
    classes = np.hstack([rest[:, None], share + log_prior])
    return AdjustedScores(classes, _find_odds(classes)[:, 1:])


def _find_odds(joint: Floats) -> Floats:
    """Log-odds of each of exclusive events (n, K) from their log-probabilities, which need not add up to one."""
    share = joint - logsumexp(joint, axis=1, keepdims=True)
    rows, top = np.arange(len(joint)), joint.argmax(axis=1)
    with np.errstate(divide="ignore"):
        odds = share - np.log(-np.expm1(share))
    others = joint.copy()
    others[rows, top] = -np.inf
    odds[rows, top] = joint[rows, top] - logsumexp(others, axis=1)  # exact where its share is 1 to rounding
    return odds


def _find_rest(odds: Floats, share: Floats, free: Floats) -> Floats:
    """(N,) log-probability that a region is no object, from the objects' log-odds and the log-probabilities `share`.

    It is what the likeliest object and the others leave, but no less than what free factors have: the difference is
    lost to rounding where one factor is nearly certain.
    """
    rows, top = np.arange(len(odds)), odds.argmax(axis=1)
    left = log_expit(-odds[rows, top])
    others = share.copy()
    others[rows, top] = -np.inf
    gap = np.minimum(logsumexp(others, axis=1) - left, 0.0) if odds.shape[1] > 1 else np.full(len(odds), -np.inf)
    with np.errstate(divide="ignore"):
        none = left + np.log(-np.expm1(gap))
    taken = logsumexp(free, axis=1) if free.shape[1] else np.full(len(odds), -np.inf)
    return np.maximum(np.maximum(none, taken), LEAST)
