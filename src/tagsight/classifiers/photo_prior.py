"""The photo-level prior of objects: evidence from the whole photo for the labels of its regions.

Object o is in photo i if L_io = 1, which the tags give in training. The objects shift the mean vector of the photo's
regions from the overall mean mu:

    L_io ~ Bern(f_o),    mean_i - mu ~ N(sum_o (L_io - f_o) V_o, Psi).

This is the model of attributes (`model.object_attributes`) with photos in place of objects. For a photo without tags
it gives log-odds of each object, linear in the mean vector. Combined with the log-odds of the object's best region and
calibrated on held-out photos, they give P_io, the probability that the object is in the photo. The probability that a
region is the object is then multiplied by

    (P_io s_o^SIZE_EXPONENT)^kappa,    kappa = `PhotoPrior.strength`,

where s_o is the mean fraction of a photo that the object covers. See docs/explanation/model.md, section 13.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import log_expit, logsumexp

from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.transforms import Projection, project
from tagsight.model.object_attributes import RAREST, SUREST, Deviations, solve_effects
from tagsight.model.settings import Factors
from tagsight.types import Array, Floats

BLOCK = 64  # photos per partial sum
SIZE_EXPONENT = 1 / 3  # exponent of s_o; 1 would be Bayes' rule for a region drawn at random from the photo
PRIOR_PHOTOS = 2.0  # weight of the mean size over objects in the size of an object, in photos
SMALLEST_PROBABILITY = 1e-300
SMALLEST_SIZE, LARGEST_SIZE = 2.0**-20, 1.0
MIN_LOG_REST = -700.0  # lower bound of a region's log-probability of being no object


class PhotoPrior(NamedTuple):
    """Linear map from the mean feature vector of a photo's regions to log-odds of its objects."""

    weights: Array  # (D, K_o) float32
    offset: Array  # (K_o,) float32
    size: Array  # (K_o,) float32: s_o, the mean fraction of a photo that the object covers where it is tagged
    strength: float  # the exponent kappa of P_io in the prior of regions; 0 leaves regions unchanged

    def score(self, photos: Iterable[PhotoFeatures]) -> Floats:
        """(I, K_o) log-odds that each object is in each photo."""
        weights = self.weights.astype(np.float64)
        means = [average_regions(photo) @ weights for photo in photos]
        return np.reshape(means, (len(means), weights.shape[1])) + self.offset

    def compute_log_prior(self, probability: Floats) -> Floats:
        """(I, K_o) kappa log(P_io s_o^SIZE_EXPONENT), at most 0 in each photo, from the `probability` P (I, K_o)."""
        log_prior = np.log(np.maximum(probability, SMALLEST_PROBABILITY)) + SIZE_EXPONENT * np.log(self.size)
        log_prior -= log_prior.max(axis=1, keepdims=True, initial=-np.inf)
        return self.strength * log_prior


def average_regions(photo: PhotoFeatures) -> Floats:
    """(D,) area-weighted mean of the feature vectors of a photo's regions."""
    return photo.area @ photo.features.astype(np.float64) / photo.area.sum()


def fit_photo_prior(
    photos: Sequence[PhotoFeatures], objects: Array, covered: Floats, standard: Projection, strength: float
) -> PhotoPrior:
    """The prior from photos, their object tags (I, K_o) and the fraction of each photo `covered` by objects (I, K_o).

    `standard` projects feature vectors before the fit.
    """
    n_photos, n_objects = objects.shape
    rates = objects.mean(axis=0, dtype=np.float64)
    sums, total = Deviations.none(n_objects, standard.basis.shape[1]), np.zeros(standard.basis.shape[1])
    for first in range(0, n_photos, BLOCK):
        block = range(first, min(first + BLOCK, n_photos))
        means = np.stack([average_regions(photos[i]) for i in block])
        projected = project(means, standard).astype(np.float64)
        sums = sums.add(objects[block.start : block.stop] - rates, projected, np.ones(len(projected)))
        total += projected.sum(axis=0)
    mu = total / max(n_photos, 1)
    sums = sums._replace(square=sums.square - n_photos * np.outer(mu, mu))
    effects = solve_effects(np.clip(rates, RAREST, SUREST)[None], sums)
    at_mean = effects.weigh(np.zeros((1, len(mu))), np.zeros(1, int))[0] + effects.prior_log_odds[0]
    weights = standard.basis.astype(np.float64) @ effects.weights.T
    offset = at_mean - effects.weights @ (standard.offset + mu)
    size = average_sizes(objects, covered)
    return PhotoPrior(weights.astype(np.float32), offset.astype(np.float32), size.astype(np.float32), strength)


def average_sizes(objects: Array, covered: Floats) -> Floats:
    """(K_o,) s_o from tags (I, K_o) and fractions of photos covered (I, K_o), shrunk towards the mean over objects."""
    total, n_photos = (covered * objects).sum(axis=0), objects.sum(axis=0, dtype=np.float64)
    mean = total.sum() / max(float(n_photos.sum()), 1.0)
    return np.clip((total + PRIOR_PHOTOS * mean) / (n_photos + PRIOR_PHOTOS), SMALLEST_SIZE, LARGEST_SIZE)


class AdjustedScores(NamedTuple):
    """Scores of regions after the photo-level prior is applied."""

    classes: Floats  # (N, 1 + K_o) log-probabilities of no object and of each object, up to a constant
    objects: Floats  # (N, K_o) log-odds of each object


def apply_photo_prior(log_odds: Array, factors: Factors, log_prior: Floats, *, exclusive: bool) -> AdjustedScores:
    """Scores from log-odds (N, K) of all factors, each object's probability multiplied by exp(`log_prior`) (N, K_o).

    With `exclusive` factors, at most one is on in a region, and the probabilities of all classes are renormalised.
    """
    object_log_odds = log_odds[:, : factors.objects].astype(np.float64)
    if not exclusive or not factors.objects:
        object_log_odds += log_prior
        return AdjustedScores(np.hstack([np.zeros((len(object_log_odds), 1)), object_log_odds]), object_log_odds)
    log_probability = log_expit(object_log_odds)
    free = log_expit(log_odds[:, factors.tagged :].astype(np.float64))
    rest = _find_rest(object_log_odds, log_probability, free)
    classes = np.hstack([rest[:, None], log_probability + log_prior])
    return AdjustedScores(classes, _find_log_odds(classes)[:, 1:])


def _find_log_odds(joint: Floats) -> Floats:
    """Log-odds (n, K) of exclusive events from their unnormalised log-probabilities (n, K)."""
    log_probability = joint - logsumexp(joint, axis=1, keepdims=True)
    rows, top = np.arange(len(joint)), joint.argmax(axis=1)
    with np.errstate(divide="ignore"):
        log_odds = log_probability - np.log(-np.expm1(log_probability))
    others = joint.copy()
    others[rows, top] = -np.inf
    log_odds[rows, top] = joint[rows, top] - logsumexp(others, axis=1)  # accurate where the probability rounds to 1
    return log_odds


def _find_rest(log_odds: Floats, log_probability: Floats, free: Floats) -> Floats:
    """(N,) log-probability that a region is no object, from the log-odds and log-probabilities (N, K_o) of objects.

    It is one minus the objects' probabilities, and at least the probability of the free factors: where one factor is
    nearly certain, the difference is lost to rounding.
    """
    rows, top = np.arange(len(log_odds)), log_odds.argmax(axis=1)
    left = log_expit(-log_odds[rows, top])
    others = log_probability.copy()
    others[rows, top] = -np.inf
    gap = np.full(len(log_odds), -np.inf)
    if log_odds.shape[1] > 1:
        gap = np.minimum(logsumexp(others, axis=1) - left, 0.0)
    with np.errstate(divide="ignore"):
        none = left + np.log(-np.expm1(gap))
    free_total = logsumexp(free, axis=1) if free.shape[1] else np.full(len(log_odds), -np.inf)
    return np.maximum(np.maximum(none, free_total), MIN_LOG_REST)
