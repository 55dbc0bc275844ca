"""Linear classifiers of bags of regions (photos, or objects in photos), which also score each region.

Region j of bag i has the score s_jk = x_j . w_k + b_k for tag k. With a_j the region's share of the bag's area,

    S_ik = log sum_j a_j exp(s_jk):        the odds of a bag are the mean of the odds of its regions,

so that one region can be enough for the bag to be positive. The objective is the logistic loss of S over bags plus
(penalty / 2) |w|^2, minimised over w and b independently for each tag. The pooling follows Pinheiro and Collobert,
"From image-level to pixel-level labeling with convolutional networks", CVPR 2015.

Trained on the tags of photos, the region scores are class activation maps (Zhou et al., CVPR 2016).
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from tagsight.classifiers.regression import Linear
from tagsight.runtime.interrupts import check_stop
from tagsight.types import Array, Floats, Ints

MAX_ITER = 60
TAGS_PER_FIT = 20  # minimised at once: enough for an efficient product, few enough to share line searches


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

    def take(self, bags: Ints) -> "Bags":
        """The bags at the given indices, in their order."""
        sizes = np.diff(self.first)[bags]
        rows = self.rows(bags)
        return Bags(self.X[rows], self.share[rows], np.concatenate([[0], np.cumsum(sizes)]))

    def rows(self, bags: Ints) -> Ints:
        """The rows of the bags at the given indices, in their order."""
        spans = np.split(np.arange(len(self.X)), self.first[1:-1])
        return np.concatenate([spans[int(i)] for i in bags])


BagBlocks = Iterable[Bags]  # blocks of bags that can be iterated repeatedly


def pool_scores(scores: Array, bags: Bags) -> Array:
    """(I, K) bag scores S from region scores s (N, K)."""
    return _pool(scores, bags)[0]


def pool_parts(scores: Array, weight: Array) -> Floats:
    """(B, K) scores S of parts of one photo from s (R, K) of its regions; rows of `weight` (B, R) add to one."""
    highest = scores.max(axis=0)
    return highest + np.log(weight @ np.exp(scores - highest) + np.finfo(np.float64).tiny)


def fit_class_activation(photos: BagBlocks, d: int, tags: Array, penalty: float) -> Linear:
    """Class activation maps for `tags` (I, K), from the photos' regions (d,).

    Photos with a tag and photos without it have the same total weight, so that scores of rare objects are not biased
    towards absence.
    """
    positives: Array = tags.sum(axis=0)
    weight = np.where(tags > 0, 0.5 / np.maximum(positives, 1), 0.5 / np.maximum(len(tags) - positives, 1))
    return fit_bag_classifiers(photos, d, tags, weight, penalty)


def fit_bag_classifiers(blocks: BagBlocks, d: int, targets: Array, weight: Array, penalty: float) -> Linear:
    """Minimise the loss of bags of vectors (d,) for `targets` (I, K) in [0, 1] with weights `weight` (I, K).

    The loss is a sum over tags, which are fitted in groups of TAGS_PER_FIT.
    """
    K = targets.shape[1]
    fitted = Linear(np.zeros((d, K), np.float32), np.zeros(K, np.float32))
    for k in range(0, K, TAGS_PER_FIT):
        group = slice(k, k + TAGS_PER_FIT)
        weights, offset = _minimise(blocks, d, targets[:, group], weight[:, group], penalty)
        fitted.weights[:, group], fitted.offset[group] = weights, offset
    return fitted


def bag_loss(
    parameters: Floats, blocks: BagBlocks, targets: Array, weight: Array, penalty: float
) -> tuple[float, Floats]:
    """The loss and its gradient at `parameters`: w (d, K), then b (K,)."""
    K = targets.shape[1]
    w, b = np.split(parameters.reshape(-1, K), [-1])
    cost, weights_gradient, offset_gradient, last = 0.5 * penalty * np.sum(w**2), penalty * w, np.zeros(K), 0
    for bags in blocks:
        check_stop()
        span = slice(last, last := last + len(bags.first) - 1)
        pooled, parts = _pool(bags.X @ w.astype(bags.X.dtype), bags)
        S = pooled + b
        residual = weight[span] * (expit(S) - targets[span])
        parts *= residual.astype(parts.dtype)[bags.groups]
        cost += np.sum(weight[span] * (np.logaddexp(0.0, S) - targets[span] * S))
        weights_gradient = weights_gradient + bags.X.T @ parts
        offset_gradient += residual.sum(axis=0)
    return float(cost), np.concatenate([weights_gradient.ravel(), offset_gradient])


def _minimise(blocks: BagBlocks, d: int, targets: Array, weight: Array, penalty: float) -> tuple[Array, Array]:
    K = targets.shape[1]
    found = minimize(
        bag_loss,
        np.zeros((d + 1) * K),
        args=(blocks, targets, weight, penalty),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MAX_ITER},
    )
    return found.x[: d * K].reshape(d, K), found.x[d * K :]


def _pool(scores: Array, bags: Bags) -> tuple[Array, Array]:
    """S (I, K), and its derivative by each region's score (N, K): the region's part a_j exp(s_jk - S_ik)."""
    starts, groups = bags.first[:-1], bags.groups
    highest = np.maximum.reduceat(scores, starts)
    parts = np.exp(scores - highest[groups])
    parts *= bags.share[:, None]
    total = np.add.reduceat(parts, starts)
    parts /= total[groups]
    return highest + np.log(total), parts
