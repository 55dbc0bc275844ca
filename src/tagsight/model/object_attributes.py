"""Attributes of the objects of a photo, in place of attributes of regions.

Object o of photo i has attribute a if y_ioa = 1, with

    y_ioa ~ Bern(theta_oa),        theta_oa ~ Beta(1 + k p_a, 1 + k (1 - p_a)),
    tag a of photo i = OR_o y_ioa  over the photo's tagged objects,
    mean_io - phi_o ~ N(sum_a (y_ioa - theta_oa) A_a, Psi),        A_a ~ N(0, Psi / r).

mean_io is the mean vector of the object's regions under the model of regions, which knows objects and free factors
alone: what an attribute adds is a deviation from what the object looks like on average, and takes nothing from it.
docs/explanation/model.md, section 12, derives what is computed here.
"""

from typing import NamedTuple, Self

import numpy as np
from scipy.special import log_expit, logit

from tagsight.types import Array, Floats, Ints

PRIOR_TAGS = 2.0  # k: objects that the prior of theta counts as
PRIOR_OBJECTS = 300.0  # r, in objects whose y deviates from theta as much as the average one
NOISY_REGIONS = 2.0  # an object of so many regions counts half
RAREST, SUREST = 1e-3, 0.995  # limits of theta
SWEEPS, SETTLED = 500, 1e-6  # of the estimate of theta: at most, and largest change
BLOCK = 4096  # photos; sums are taken block by block


class ObjectAttributes(NamedTuple):
    """What is learned of attributes."""

    probability: Floats  # (K_o, K_a) theta
    effect: Floats  # (K_a, D) A
    weights: Floats  # (K_a, D) A Psi^-1

    @property
    def prior_odds(self) -> Floats:
        """(K_o, K_a) log-odds of theta."""
        return logit(self.probability)

    def weigh(self, deviation: Floats, objects: Ints) -> Floats:
        """(n, K_a) log-odds that deviations (n, D) of `objects` (n,) from their appearance add to `prior_odds`.

        log N(d; (1 - theta) A, Psi) - log N(d; -theta A, Psi), the other attributes at their mean.
        """
        length = np.einsum("ad,ad->a", self.effect, self.weights)
        return deviation @ self.weights.T - (0.5 - self.probability[objects]) * length


class Pairs(NamedTuple):
    """Photos and objects that belong together, photo after photo."""

    photos: Ints  # (P,)
    objects: Ints  # (P,)


def list_pairs(tags: Array) -> Pairs:
    """Of tags of objects (I, K_o)."""
    return Pairs(*np.nonzero(tags))


def learn_probability(objects: Array, attributes: Array) -> Floats:
    """(K_o, K_a) theta of highest posterior probability, from tags (I, K_o) and (I, K_a); by EM."""
    pairs = list_pairs(objects)
    count = np.bincount(pairs.objects, minlength=objects.shape[1]).astype(np.float64)[:, None]
    tagged = attributes[objects.any(axis=1)].astype(np.float64).sum(axis=0)
    usual = np.clip(tagged / max(len(pairs.objects), 1), RAREST, 1 - RAREST)
    theta = np.tile(usual, (objects.shape[1], 1))
    for _ in range(SWEEPS):
        own = np.zeros_like(theta)
        for here in _cut(pairs):
            np.add.at(own, here.objects, expect_own(theta, here, attributes))
        before, theta = theta, np.clip((own + PRIOR_TAGS * usual) / (count + PRIOR_TAGS), RAREST, SUREST)
        if np.abs(theta - before).max(initial=0.0) <= SETTLED:
            break
    return theta


def expect_own(theta: Floats, pairs: Pairs, attributes: Array) -> Floats:
    """(P, K_a) E[y_ioa | tags]: theta_oa / P(the photo has the tag) where it has it, else 0."""
    if not len(pairs.photos):
        return np.zeros((0, theta.shape[1]))
    lacks = np.log1p(-theta[pairs.objects])
    first = np.flatnonzero(np.diff(pairs.photos, prepend=-1))
    sizes = np.diff(np.append(first, len(pairs.photos)))
    has = -np.expm1(np.repeat(np.add.reduceat(lacks, first), sizes, axis=0))
    return attributes[pairs.photos] * theta[pairs.objects] / has


def score_tags(theta: Floats, objects: Array, attributes: Array) -> float:
    """Log-probability of the photos' attribute tags: what `learn_probability` raises, less the prior."""
    present = objects.any(axis=1)
    lacks = objects[present].astype(np.float64) @ np.log1p(-theta)
    return float(np.sum(np.where(attributes[present] > 0, np.log(-np.expm1(lacks)), lacks)))


class Deviations(NamedTuple):
    """Sums over objects of photos, each weighted by how many regions it has."""

    own: Floats  # (K_a, K_a) of r r^T, r = E[y_io] - theta_o
    cross: Floats  # (K_a, D) of r d^T, d = mean_io - phi_o
    square: Floats  # (D, D) of d d^T
    weight: float

    @classmethod
    def none(cls, n_attributes: int, D: int) -> Self:
        """Before anything is added."""
        return cls(np.zeros((n_attributes, n_attributes)), np.zeros((n_attributes, D)), np.zeros((D, D)), 0.0)

    def add(self, own: Floats, deviation: Floats, weight: Floats) -> "Deviations":
        """With rows of r (n, K_a) and d (n, D), of objects with `weight` (n,)."""
        r, d = weight[:, None] * own, weight[:, None] * deviation
        return Deviations(
            self.own + r.T @ own,
            self.cross + r.T @ deviation,
            self.square + d.T @ deviation,
            self.weight + weight.sum(),
        )


def weigh_objects(n_regions: Floats) -> Floats:
    """How much objects with `n_regions` (n,) count."""
    return n_regions / (n_regions + NOISY_REGIONS)


def solve_effects(theta: Floats, sums: Deviations) -> ObjectAttributes:
    """A, the ridge regression of deviations on r, and Psi, of what it leaves, drawn towards an isotropic matrix."""
    n_attributes, D = sums.cross.shape
    if sums.weight == 0.0 or not n_attributes:
        return ObjectAttributes(theta, np.zeros((n_attributes, D)), np.zeros((n_attributes, D)))
    ridge = max(PRIOR_OBJECTS * float(np.trace(sums.own)) / (n_attributes * sums.weight), 1e-12)
    effect = np.linalg.solve(sums.own + ridge * np.eye(n_attributes), sums.cross)
    crossed = effect.T @ sums.cross
    left = sums.square - crossed - crossed.T + effect.T @ sums.own @ effect + ridge * effect.T @ effect
    spread = max(float(np.trace(left)) / (D * sums.weight), 1e-12)
    Psi = (left + D * spread * np.eye(D)) / (sums.weight + D)
    return ObjectAttributes(theta, effect, np.linalg.solve(Psi, effect.T).T)


def average_objects(X: Array, log_odds: Array) -> tuple[Floats, Floats]:
    """Mean vector (K, D) of the regions of one photo under each column of `log_odds` (R, K), and their number (K,).

    A region counts by its probability; an object that is nowhere likely is where it is least unlikely.
    """
    log_share = log_expit(log_odds.astype(np.float64))
    most = log_share.max(axis=0)
    share = np.exp(log_share - np.where(np.isfinite(most), most, 0.0))
    mean = share.T @ X.astype(np.float64) / np.maximum(share.sum(axis=0), np.finfo(np.float64).tiny)[:, None]
    return mean, np.exp(log_share).sum(axis=0)


def _cut(pairs: Pairs) -> list[Pairs]:
    if not len(pairs.photos):
        return []
    ends = np.searchsorted(pairs.photos, np.arange(BLOCK, int(pairs.photos[-1]) + 1, BLOCK))
    return [Pairs(*part) for part in zip(*(np.split(column, ends) for column in pairs), strict=True)]
