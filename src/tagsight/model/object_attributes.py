"""Attributes of the objects of a photo, instead of attributes of regions.

Object o of photo i has attribute a if y_ioa = 1, with

    y_ioa ~ Bern(theta_oa),        theta_oa ~ Beta(1 + k p_a, 1 + k (1 - p_a)),
    tag a of photo i = OR_o y_ioa  over the photo's tagged objects,
    mean_io - phi_o ~ N(sum_a (y_ioa - theta_oa) A_a, Psi),        A_a ~ N(0, Psi / r).

mean_io is the mean vector of the object's regions under the model of regions, which has only objects and free factors.
The effect of an attribute is a deviation from the object's mean appearance phi_o and does not change phi_o.
docs/explanation/model.md, section 12, derives the equations.
"""

from typing import NamedTuple, Self

import numpy as np
from scipy.special import log_expit, logit

from tagsight.types import Array, Floats, Ints

ATTRIBUTE_PRIORS = ("learned", "tags", "equal")  # see `find_probability`
PRIOR_TAGS = 2.0  # k: weight of the prior of theta, in objects
PRIOR_OBJECTS = 300.0  # r, in objects with the mean variance of y - theta
NOISY_REGIONS = 2.0  # number of regions at which an object has weight 1/2
RAREST, SUREST = 1e-3, 0.995  # limits of theta
MAX_ITERATIONS, TOL = 500, 1e-6  # of the EM estimate of theta; TOL is the largest change
BLOCK = 4096  # photos; sums are added block by block


class ObjectAttributes(NamedTuple):
    """Learned parameters of the attributes."""

    probability: Floats  # (K_o, K_a) theta
    effect: Floats  # (K_a, D) A
    weights: Floats  # (K_a, D) A Psi^-1

    @property
    def prior_log_odds(self) -> Floats:
        """(K_o, K_a) log-odds of theta."""
        return logit(self.probability)

    def weigh(self, deviation: Floats, objects: Ints) -> Floats:
        """Return the log-likelihood ratios (n, K_a) of deviations (n, D) of `objects` (n,) from their appearance.

        log N(d; (1 - theta) A, Psi) - log N(d; -theta A, Psi), with the other attributes at their mean.
        """
        length = np.einsum("ad,ad->a", self.effect, self.weights)
        return deviation @ self.weights.T - (0.5 - self.probability[objects]) * length


class Pairs(NamedTuple):
    """Pairs of a photo and one of its tagged objects, sorted by photo."""

    photos: Ints  # (P,)
    objects: Ints  # (P,)


def list_pairs(tags: Array) -> Pairs:
    """Return the pairs of object tags (I, K_o)."""
    return Pairs(*np.nonzero(tags))


def find_probability(objects: Array, attributes: Array, attribute_prior: str) -> Floats:
    """Return theta (K_o, K_a) from tags (I, K_o) and (I, K_a).

    `learned` is `learn_probability`; `tags` the fraction of the photos of an object that have the attribute's tag,
    whichever object it belongs to; `equal` the same for all objects.
    """
    if attribute_prior == "learned":
        return learn_probability(objects, attributes)
    pairs = list_pairs(objects)
    prior, shared = _find_prior(pairs, objects, attributes), np.zeros((objects.shape[1], attributes.shape[1]))
    if attribute_prior == "equal":
        return prior + shared
    for here in _cut(pairs):
        np.add.at(shared, here.objects, attributes[here.photos].astype(np.float64))
    return _shrink(shared, pairs, prior)


def learn_probability(objects: Array, attributes: Array) -> Floats:
    """Return the maximum a posteriori theta (K_o, K_a), by EM, from tags (I, K_o) and (I, K_a)."""
    pairs = list_pairs(objects)
    prior = _find_prior(pairs, objects, attributes)
    theta = np.tile(prior, (objects.shape[1], 1))
    for _ in range(MAX_ITERATIONS):
        own = np.zeros_like(theta)
        for here in _cut(pairs):
            np.add.at(own, here.objects, expect_own(theta, here, attributes))
        before, theta = theta, _shrink(own, pairs, prior)
        if np.abs(theta - before).max(initial=0.0) <= TOL:
            break
    return theta


def _find_prior(pairs: Pairs, objects: Array, attributes: Array) -> Floats:
    """Return p_a (K_a,): photos with the tag and an object per tagged object."""
    tagged = attributes[objects.any(axis=1)].astype(np.float64).sum(axis=0)
    return np.clip(tagged / max(len(pairs.objects), 1), RAREST, 1 - RAREST)


def _shrink(count: Floats, pairs: Pairs, prior: Floats) -> Floats:
    """Return theta (K_o, K_a) from the expected `count` (K_o, K_a) of objects with each attribute, and its prior."""
    n_photos = np.bincount(pairs.objects, minlength=len(count)).astype(np.float64)[:, None]
    return np.clip((count + PRIOR_TAGS * prior) / (n_photos + PRIOR_TAGS), RAREST, SUREST)


def expect_own(theta: Floats, pairs: Pairs, attributes: Array) -> Floats:
    """Return E[y_ioa | tags] (P, K_a): theta_oa / P(the photo has tag a) if it has the tag, otherwise 0."""
    if not len(pairs.photos):
        return np.zeros((0, theta.shape[1]))
    lacks = np.log1p(-theta[pairs.objects])
    first = np.flatnonzero(np.diff(pairs.photos, prepend=-1))
    sizes = np.diff(np.append(first, len(pairs.photos)))
    has = -np.expm1(np.repeat(np.add.reduceat(lacks, first), sizes, axis=0))
    return attributes[pairs.photos] * theta[pairs.objects] / has


class Deviations(NamedTuple):
    """Sums over objects of photos, weighted by their number of regions."""

    own: Floats  # (K_a, K_a) of r r^T, r = E[y_io] - theta_o
    cross: Floats  # (K_a, D) of r d^T, d = mean_io - phi_o
    square: Floats  # (D, D) of d d^T
    weight: float

    @classmethod
    def none(cls, n_attributes: int, D: int) -> Self:
        """Return sums of zero."""
        return cls(np.zeros((n_attributes, n_attributes)), np.zeros((n_attributes, D)), np.zeros((D, D)), 0.0)

    def add(self, own: Floats, deviation: Floats, weight: Floats) -> "Deviations":
        """Return the sums with r (n, K_a) and d (n, D) of n objects with `weight` (n,) added."""
        r, d = weight[:, None] * own, weight[:, None] * deviation
        return Deviations(
            self.own + r.T @ own,
            self.cross + r.T @ deviation,
            self.square + d.T @ deviation,
            self.weight + weight.sum(),
        )


def weigh_objects(n_regions: Floats) -> Floats:
    """Return the weights of objects with `n_regions` (n,)."""
    return n_regions / (n_regions + NOISY_REGIONS)


def solve_effects(theta: Floats, sums: Deviations) -> ObjectAttributes:
    """Return A, the ridge regression of d on r, and Psi, its residual covariance shrunk towards an isotropic matrix."""
    n_attributes, D = sums.cross.shape
    if sums.weight == 0.0 or not n_attributes:
        return ObjectAttributes(theta, np.zeros((n_attributes, D)), np.zeros((n_attributes, D)))
    ridge = max(PRIOR_OBJECTS * float(np.trace(sums.own)) / (n_attributes * sums.weight), 1e-12)
    effect = np.asarray(np.linalg.solve(sums.own + ridge * np.eye(n_attributes), sums.cross), np.float64)
    crossed = effect.T @ sums.cross
    residual = sums.square - crossed - crossed.T + effect.T @ sums.own @ effect + ridge * effect.T @ effect
    variance = max(float(np.trace(residual)) / (D * sums.weight), 1e-12)
    Psi = (residual + D * variance * np.eye(D)) / (sums.weight + D)
    return ObjectAttributes(theta, effect, np.asarray(np.linalg.solve(Psi, effect.T), np.float64).T)


def average_objects(X: Array, log_odds: Array) -> tuple[Floats, Floats]:
    """Return the mean vectors (K, D) of a photo's regions for each column of `log_odds` (R, K), and their number (K,).

    Regions are weighted by their probability. Weights are relative to the largest, so that the mean of an object that
    is improbable everywhere is that of its most probable regions.
    """
    log_probability = log_expit(log_odds.astype(np.float64))
    most = log_probability.max(axis=0)
    weight = np.exp(log_probability - np.where(np.isfinite(most), most, 0.0))
    mean = weight.T @ X.astype(np.float64) / np.maximum(weight.sum(axis=0), np.finfo(np.float64).tiny)[:, None]
    return mean, np.exp(log_probability).sum(axis=0)


def _cut(pairs: Pairs) -> list[Pairs]:
    if not len(pairs.photos):
        return []
    ends = np.searchsorted(pairs.photos, np.arange(BLOCK, int(pairs.photos[-1]) + 1, BLOCK))
    return [Pairs(*part) for part in zip(*(np.split(column, ends) for column in pairs), strict=True)]
