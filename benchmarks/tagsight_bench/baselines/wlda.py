"""w-LDA: weakly supervised latent Dirichlet allocation over regions, with Gaussian topics.

Rasiwasia and Vasconcelos, "Latent Dirichlet allocation models for image classification", TPAMI 2013 (topics are the
labels, and a labelled photo draws from its own); with continuous features as Shi et al. (TPAMI) use it. Each region has
one topic among objects, attributes and some free ones:

    theta_i ~ Dirichlet(alpha) over the photo's tags and the free topics,
    z_j ~ theta_i,        x_j ~ N(mu_z, diag sigma^2),        mu_k ~ N(0, sigma^2 / STRENGTH).

Variational EM, with q(theta_i) = Dirichlet(gamma_i) and q(z_j) = phi_j:

    log phi_jk = psi(gamma_ik) - 1/2 sum_d (x_jd - mu_kd)^2 / sigma_d^2 + const, -inf where not allowed,
    gamma_ik = alpha + sum_j phi_jk,        mu_k = sum_j phi_jk x_j / (STRENGTH + sum_j phi_jk),
    sigma_d^2 = (sum_jk phi_jk (x_jd - mu_kd)^2 + STRENGTH sum_k mu_kd^2) / (N + K).

Nouns and adjectives share the topics, so that one region cannot be both: what a region says of a tag is its log-odds
among the topics of its kind and the free ones, on the scale of photos left out.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from scipy.special import digamma, logsumexp

from tagsight.classifiers.bags import Bags
from tagsight.features.photo_features import PhotoFeatures
from tagsight.runtime.interrupts import check_stop
from tagsight.types import Array, Floats, Ints
from tagsight_bench.baselines.choice import fit_scale, score_left_out
from tagsight_bench.baselines.pooled import learn_space, stack_bags, weigh_boxes
from tagsight_bench.evaluation.method import MethodPrediction, Tags, put_background_at_zero

LENGTH = 64  # of a projected vector
FREE = 20  # topics no tag names
ALPHA = 0.1
STRENGTH = 10.0  # regions' worth of belief that a topic is like the mean of all
DRAWN = 0.1  # of the photos, for the start of a free topic
SWEEPS = 20
INNER = 3  # updates of phi and gamma a sweep


class Topics(NamedTuple):
    """What is learned."""

    means: Array  # (K, d) mu
    variance: Array  # (d,) sigma^2


class WeakLDA:
    """Gaussian w-LDA with `n_free` topics besides the tags (see `evaluation.method.Method`)."""

    def __init__(self, n_free: int = FREE):
        self._n_free = n_free

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Learn the topics."""
        truth = np.hstack(tags)
        self._kinds = np.repeat([0, 1, 2], [*(part.shape[1] for part in tags), self._n_free])
        self._space = learn_space(photos, seed=seed, length=LENGTH)
        bags = stack_bags(photos, self._space)

        def score(train: Ints, test: Ints) -> Array:
            topics = learn_topics(bags.take(train), truth[train], self._n_free, seed=seed)
            rest = bags.take(test)
            return np.maximum.reduceat(self._odds(topics, rest), rest.first[:-1])

        self._scale = fit_scale(score_left_out(score, truth, seed=seed), truth)
        self._topics = learn_topics(bags, truth, self._n_free, seed=seed)
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Topics of the regions; a photo has an object as surely as its surest region."""
        n_objects = int(np.sum(self._kinds == 0))
        seen = []
        for photo in photos:
            raw = self._odds(self._topics, stack_bags([photo], self._space))
            objects, attributes = np.split(self._scale.apply(raw), [n_objects], axis=1)
            seen.append(
                MethodPrediction(objects.max(axis=0), objects, attributes, put_background_at_zero(raw[:, :n_objects]))
            )
        return seen

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) mean of the regions' log-odds over each box, by area."""
        raw = self._odds(self._topics, stack_bags([photo], self._space))
        return (weigh_boxes(photo, boxes) @ self._scale.apply(raw))[:, np.flatnonzero(self._kinds == 1)]

    def _odds(self, topics: Topics, bags: Bags) -> Floats:
        """(N, K_o + K_a) log-odds of each tag among the topics of its kind and the free ones."""
        log_phi = infer_topics(topics, bags, np.ones((len(bags.first) - 1, len(topics.means)), bool))[0]
        return np.hstack([rival_log_odds(log_phi, self._kinds, kind) for kind in (0, 1)])


def rival_log_odds(log_phi: Floats, kinds: Ints, kind: int) -> Floats:
    """(N, n) log phi_k - log sum of the other topics of the kind and the free ones."""
    mine = log_phi[:, kinds == kind]
    everything = np.hstack([mine, log_phi[:, kinds == 2]])
    total = logsumexp(everything, axis=1, keepdims=True)
    share = np.minimum(mine - total, -1e-12)
    return share - np.log(-np.expm1(share))


def learn_topics(bags: Bags, tags: Array, n_free: int, *, seed: int) -> Topics:
    """Variational EM from means of photos."""
    allowed = np.hstack([tags > 0, np.ones((len(tags), n_free), bool)])
    topics = start_topics(bags, tags, n_free, seed)
    for _ in range(SWEEPS):
        check_stop()
        log_phi, _ = infer_topics(topics, bags, allowed)
        topics = improve_topics(np.exp(log_phi).astype(np.float32), bags.X)
    return topics


def start_topics(bags: Bags, tags: Array, n_free: int, seed: int) -> Topics:
    """Each topic starts at the mean of some photos: a tag's at those that have it, a free one's at random ones.

    Sharper starts for the free topics, centres of k-means, would let them take the objects too.
    """
    drawn = np.random.default_rng(seed).random((len(tags), n_free)) < DRAWN
    members = np.hstack([tags > 0, drawn]).astype(np.float32)
    means = members.T @ bags.means / np.maximum(members.sum(axis=0), 1)[:, None]
    return Topics(means, bags.X.var(axis=0))


def infer_topics(topics: Topics, bags: Bags, allowed: Array) -> tuple[Floats, Floats]:
    """log phi (N, K) and gamma (I, K) of photos whose topics may be those `allowed` (I, K)."""
    starts, groups = bags.first[:-1], bags.groups
    precision = 1.0 / topics.variance
    likelihood = bags.X @ (topics.means * precision).T - 0.5 * np.sum(topics.means**2 * precision, axis=1)
    barred = np.where(allowed, 0.0, -np.inf)
    gamma = np.full(allowed.shape, ALPHA) + np.diff(bags.first)[:, None] / allowed.sum(axis=1, keepdims=True)
    log_phi = likelihood
    for _ in range(INNER):
        log_phi = likelihood + (digamma(gamma) + barred)[groups]
        log_phi -= logsumexp(log_phi, axis=1, keepdims=True)
        gamma = ALPHA + np.add.reduceat(np.exp(log_phi), starts)
    return log_phi, gamma


def improve_topics(phi: Array, X: Array) -> Topics:
    """Means and the shared variance from memberships `phi` (N, K)."""
    mass = phi.sum(axis=0, dtype=np.float64)
    means = (phi.T @ X) / (STRENGTH + mass)[:, None]
    square = np.sum(X.astype(np.float64) ** 2, axis=0) - (means**2 * (mass + STRENGTH)[:, None]).sum(axis=0)
    variance = np.maximum(square / (len(X) + len(means)), 1e-6 * X.var(axis=0))
    return Topics(means.astype(np.float32), variance.astype(np.float32))
