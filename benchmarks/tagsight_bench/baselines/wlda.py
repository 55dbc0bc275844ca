"""w-LDA: weakly supervised latent Dirichlet allocation over regions, with Gaussian topics.

Rasiwasia and Vasconcelos, "Latent Dirichlet allocation models for image classification", TPAMI 2013 (topics are the
tags, and a photo's regions draw from its own tags); with continuous features as in Shi et al. (TPAMI). Each region has
one topic among objects, attributes and some free topics:

    theta_i ~ Dirichlet(alpha) over the photo's tags and the free topics,
    z_j ~ theta_i,        x_j ~ N(mu_z, diag sigma^2),        mu_k ~ N(0, sigma^2 / STRENGTH).

Variational EM, with q(theta_i) = Dirichlet(gamma_i) and q(z_j) = phi_j:

    log phi_jk = psi(gamma_ik) - 1/2 sum_d (x_jd - mu_kd)^2 / sigma_d^2 + const, -inf where not allowed,
    gamma_ik = alpha + sum_j phi_jk,        mu_k = sum_j phi_jk x_j / (STRENGTH + sum_j phi_jk),
    sigma_d^2 = (sum_jk phi_jk (x_jd - mu_kd)^2 + STRENGTH sum_k mu_kd^2) / (N + K).

Objects and attributes compete for a region's single topic. The score of a tag in a region is therefore its log-odds
among the topics of its own kind and the free topics, calibrated on held-out folds.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from scipy.special import digamma, logsumexp

from tagsight.classifiers.bags import Bags
from tagsight.features.photo_features import PhotoFeatures
from tagsight.runtime.interrupts import check_stop
from tagsight.types import Array, Floats, Ints
from tagsight_bench.baselines.model_selection import cross_val_scores, fit_platt_scaling
from tagsight_bench.baselines.region_vectors import compute_box_shares, fit_projection, stack_bags
from tagsight_bench.evaluation.method import MethodPrediction, Tags, add_zero_background

LENGTH = 64  # of a projected vector
FREE = 20  # topics without a tag
ALPHA = 0.1
STRENGTH = 10.0  # of the prior on topic means, in regions
INITIAL_SHARE = 0.1  # of the photos, for the initial mean of a free topic
SWEEPS = 20
INNER = 3  # updates of phi and gamma per sweep


class Topics(NamedTuple):
    """The fitted parameters."""

    means: Array  # (K, d) mu
    variance: Array  # (d,) sigma^2


class WeakLDA:
    """Gaussian w-LDA with `n_free` topics besides the tags (see `evaluation.method.Method`)."""

    def __init__(self, n_free: int = FREE):
        self._n_free = n_free

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Fit the topics."""
        truth = np.hstack(tags)
        self._kinds = np.repeat([0, 1, 2], [*(part.shape[1] for part in tags), self._n_free])
        self._projection = fit_projection(photos, seed=seed, length=LENGTH)
        bags = stack_bags(photos, self._projection)

        def score(train: Ints, test: Ints) -> Array:
            topics = fit_topics(bags.take(train), truth[train], self._n_free, seed=seed)
            test_bags = bags.take(test)
            return np.maximum.reduceat(self._odds(topics, test_bags), test_bags.first[:-1])

        self._scaling = fit_platt_scaling(cross_val_scores(score, truth, seed=seed), truth)
        self._topics = fit_topics(bags, truth, self._n_free, seed=seed)
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Log-odds of the regions; a photo's log-odds are those of its best region."""
        n_objects = int(np.sum(self._kinds == 0))
        predictions = []
        for photo in photos:
            raw = self._odds(self._topics, stack_bags([photo], self._projection))
            objects, attributes = np.split(self._scaling.apply(raw), [n_objects], axis=1)
            predictions.append(
                MethodPrediction(objects.max(axis=0), objects, attributes, add_zero_background(raw[:, :n_objects]))
            )
        return predictions

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) area-weighted mean of the regions' log-odds in each box."""
        raw = self._odds(self._topics, stack_bags([photo], self._projection))
        return (compute_box_shares(photo, boxes) @ self._scaling.apply(raw))[:, np.flatnonzero(self._kinds == 1)]

    def _odds(self, topics: Topics, bags: Bags) -> Floats:
        """(N, K_o + K_a) log-odds of each tag among the topics of its kind and the free topics."""
        log_phi = infer_topics(topics, bags, np.ones((len(bags.first) - 1, len(topics.means)), bool))[0]
        return np.hstack([compute_log_odds(log_phi, self._kinds, kind) for kind in (0, 1)])


def compute_log_odds(log_phi: Floats, kinds: Ints, kind: int) -> Floats:
    """(N, n) log phi_k minus the log sum of the other topics of the kind and the free topics."""
    own = log_phi[:, kinds == kind]
    candidates = np.hstack([own, log_phi[:, kinds == 2]])
    total = logsumexp(candidates, axis=1, keepdims=True)
    share = np.minimum(own - total, -1e-12)
    return share - np.log(-np.expm1(share))


def fit_topics(bags: Bags, tags: Array, n_free: int, *, seed: int) -> Topics:
    """Variational EM, initialised with means of photos."""
    allowed = np.hstack([tags > 0, np.ones((len(tags), n_free), bool)])
    topics = initialise_topics(bags, tags, n_free, seed)
    for _ in range(SWEEPS):
        check_stop()
        log_phi, _ = infer_topics(topics, bags, allowed)
        topics = update_topics(np.exp(log_phi).astype(np.float32), bags.X)
    return topics


def initialise_topics(bags: Bags, tags: Array, n_free: int, seed: int) -> Topics:
    """Initial topics: the mean of the photos with the tag, and of random photos for a free topic.

    Free topics initialised at k-means centres would absorb the objects.
    """
    random_photos = np.random.default_rng(seed).random((len(tags), n_free)) < INITIAL_SHARE
    members = np.hstack([tags > 0, random_photos]).astype(np.float32)
    means = members.T @ bags.means / np.maximum(members.sum(axis=0), 1)[:, None]
    return Topics(means, bags.X.var(axis=0))


def infer_topics(topics: Topics, bags: Bags, allowed: Array) -> tuple[Floats, Floats]:
    """log phi (N, K) and gamma (I, K), with the topics `allowed` (I, K) in each photo."""
    starts, groups = bags.first[:-1], bags.groups
    precision = 1.0 / topics.variance
    likelihood = bags.X @ (topics.means * precision).T - 0.5 * np.sum(topics.means**2 * precision, axis=1)
    mask = np.where(allowed, 0.0, -np.inf)
    gamma = np.full(allowed.shape, ALPHA) + np.diff(bags.first)[:, None] / allowed.sum(axis=1, keepdims=True)
    log_phi = likelihood
    for _ in range(INNER):
        log_phi = likelihood + (digamma(gamma) + mask)[groups]
        log_phi -= logsumexp(log_phi, axis=1, keepdims=True)
        gamma = ALPHA + np.add.reduceat(np.exp(log_phi), starts)
    return log_phi, gamma


def update_topics(phi: Array, X: Array) -> Topics:
    """M step: topic means and the shared variance, from responsibilities `phi` (N, K)."""
    mass = phi.sum(axis=0, dtype=np.float64)
    means = (phi.T @ X) / (STRENGTH + mass)[:, None]
    square = np.sum(X.astype(np.float64) ** 2, axis=0) - (means**2 * (mass + STRENGTH)[:, None]).sum(axis=0)
    variance = np.maximum(square / (len(X) + len(means)), 1e-6 * X.var(axis=0))
    return Topics(means.astype(np.float32), variance.astype(np.float32))
