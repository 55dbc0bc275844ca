"""Classifiers of bags of regions (photos, or objects in them), which also score each region.

Region j of bag i has s_jk = x_j . w_k + b_k. With a_j its share of the bag,

    S_ik = log sum_j a_j exp(s_jk):        the odds of a bag are the mean of the odds of its regions,

so a part of a bag can give it away. Minimised over w and b is the logistic loss of S over bags, each tag apart, plus
(penalty / 2) |w|^2. The pooling is that of Pinheiro and Collobert, "From image-level to pixel-level labeling with
convolutional networks", CVPR 2015.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from tagsight.classifiers.regression import Linear
from tagsight.runtime.interrupts import check_stop
from tagsight.types import Array, Floats, Ints

STEPS = 60
TOGETHER = 20  # tags minimised at once: as many as make good use of a product, as few as share steps well


class Bags(NamedTuple):
    """The regions of many bags: bag i has the rows first[i] to first[i + 1]."""

    X: Array  # (N, d) float32
    share: Array  # (N,) float32 area as a share of the bag's
    first: Ints  # (I + 1,)

    @property
    def groups(self) -> Ints:
        """(N,) the bag of each region."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    @property
    def means(self) -> Array:
        """(I, d) float32 area-weighted mean of each bag."""
        return np.add.reduceat(self.X * self.share[:, None], self.first[:-1])

    def pick(self, bags: Ints) -> "Bags":
        """Some of the bags, in the order given."""
        sizes = np.diff(self.first)[bags]
        rows = self.rows(bags)
        return Bags(self.X[rows], self.share[rows], np.concatenate([[0], np.cumsum(sizes)]))

    def rows(self, bags: Ints) -> Ints:
        """The regions of some of the bags, in the order given."""
        spans = np.split(np.arange(len(self.X)), self.first[1:-1])
        return np.concatenate([spans[i] for i in bags])


Blocks = Iterable[Bags]  # some bags after the others, as often as they are asked for


def pool_scores(scores: Array, bags: Bags) -> Array:
    """(I, K) S of the bags from s (N, K) of their regions."""
    return _pool(scores, bags)[0]


def pool_odds(scores: Array, weight: Array) -> Floats:
    """(B, K) S of parts of one photo from s (R, K) of its regions; `weight` (B, R) adds to one over regions."""
    highest = scores.max(axis=0)
    return highest + np.log(weight @ np.exp(scores - highest) + np.finfo(np.float64).tiny)


def train_pooled(blocks: Blocks, d: int, targets: Array, weight: Array, penalty: float) -> Linear:
    """Minimise the loss of bags of vectors (d,), which come block by block as often as they are asked for.

    `targets` (I, K) lie in [0, 1] and weigh `weight` (I, K) each. The loss is a sum over tags, so some go at a time.
    """
    K = targets.shape[1]
    found = Linear(np.zeros((d, K), np.float32), np.zeros(K, np.float32))
    for k in range(0, K, TOGETHER):
        some = slice(k, k + TOGETHER)
        found.weights[:, some], found.offset[some] = _minimise(blocks, d, targets[:, some], weight[:, some], penalty)
    return found


def pooled_loss(
    parameters: Floats, blocks: Blocks, targets: Array, weight: Array, penalty: float
) -> tuple[float, Floats]:
    """The loss and its gradient at `parameters`, w (d, K) and then b (K,)."""
    K = targets.shape[1]
    w, b = np.split(parameters.reshape(-1, K), [-1])
    cost, slope, lift, last = 0.5 * penalty * np.sum(w**2), penalty * w, np.zeros(K), 0
    for bags in blocks:
        check_stop()
        here = slice(last, last := last + len(bags.first) - 1)
        pooled, parts = _pool(bags.X @ w.astype(bags.X.dtype), bags)
        S = pooled + b
        slack = weight[here] * (expit(S) - targets[here])
        parts *= slack.astype(parts.dtype)[bags.groups]
        cost += np.sum(weight[here] * (np.logaddexp(0.0, S) - targets[here] * S))
        slope = slope + bags.X.T @ parts
        lift += slack.sum(axis=0)
    return float(cost), np.concatenate([slope.ravel(), lift])


def _minimise(blocks: Blocks, d: int, targets: Array, weight: Array, penalty: float) -> tuple[Array, Array]:
    K = targets.shape[1]
    found = minimize(
        pooled_loss,
        np.zeros((d + 1) * K),
        args=(blocks, targets, weight, penalty),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": STEPS},
    )
    return found.x[: d * K].reshape(d, K), found.x[d * K :]


def _pool(scores: Array, bags: Bags) -> tuple[Array, Array]:
    """S (I, K), and each region's part a_j exp(s_jk - S_ik) in it (N, K), which is also its derivative."""
    starts, groups = bags.first[:-1], bags.groups
    highest = np.maximum.reduceat(scores, starts)
    parts = np.exp(scores - highest[groups])
    parts *= bags.share[:, None]
    total = np.add.reduceat(parts, starts)
    parts /= total[groups]
    return highest + np.log(total), parts
