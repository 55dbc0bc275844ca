"""Linear classifiers with soft targets, by L-BFGS.

scikit-learn's take hard labels and one problem at a time; here all columns of a problem share each product with X,
which is nearly all of the work. Rows come block by block, so that they need not be in memory all at once.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from tagsight.classifiers.rows import Rows, number_blocks
from tagsight.types import Array, Floats

SINGLE, DOUBLE = 6e-8, 2.2e-9  # relative steps of the cost below which a descent has ended


class Linear(NamedTuple):
    """x -> x weights + offset."""

    weights: Array  # (D, K)
    offset: Array  # (K,)

    def score(self, X: Array) -> Array:
        """(N, K)."""
        return X @ self.weights + self.offset


class OneHot:
    """Rows of the unit matrix, made when asked for."""

    def __init__(self, labels: Array, n_classes: int):
        self._labels = labels
        self.shape = (len(labels), n_classes)

    def __getitem__(self, rows: slice) -> Array:
        return np.eye(self.shape[1], dtype=np.float32)[self._labels[rows]]


Targets = Array | OneHot  # (n, K) wanted shares


class Scaling(NamedTuple):
    """x -> (x - centre) / spread, before a classifier sees a row."""

    spread: float = 1.0
    centre: Array | None = None


def fit_softmax(
    rows: Rows,
    targets: Targets,
    weight: Floats,
    *,
    strength: float,
    rounds: int = 100,
    scaling: Scaling = Scaling(),  # noqa: B008
) -> Linear:
    """Multinomial regression: minimise -sum_j weight_j sum_k targets_jk log softmax_k(x_j W + b) + |W|^2 / 2 strength.

    Rows of `targets` (N, K) add to one. The classifier takes rows before `scaling`.
    """

    def loss(scores: Array, here: slice) -> tuple[float, Array]:
        heavy = weight[here, None].astype(np.float32)
        wanted = targets[here].astype(np.float32) * heavy
        log_share = log_softmax(scores, axis=1)
        # In double precision: L-BFGS searches in vain for a way down in the noise of a single-precision sum.
        return -float(np.sum(wanted * log_share, dtype=np.float64)), np.exp(log_share) * heavy - wanted

    return _descend(rows, targets.shape[1], loss, strength, rounds, scaling, tol=SINGLE)


def fit_logistic(
    rows: Rows,
    targets: Targets,
    weight: Array | None = None,
    *,
    strength: float,
    rounds: int = 150,
    scaling: Scaling = Scaling(),  # noqa: B008
) -> Linear:
    """One logistic regression a column: minimise -sum_jk weight_jk log P(targets_jk) + |W|^2 / 2 strength.

    `targets` (N, K) lie in [0, 1]; `weight` is (N, 1) or (N, K), None: all 1. The classifier takes rows before
    `scaling`.
    """

    def loss(scores: Array, here: slice) -> tuple[float, Array]:
        heavy = np.float32(1.0) if weight is None else weight[here]
        wanted = targets[here].astype(np.float32)
        cost = np.sum(heavy * (np.logaddexp(0.0, scores) - wanted * scores), dtype=np.float64)
        return float(cost), (expit(scores) - wanted) * heavy

    return _descend(rows, targets.shape[1], loss, strength, rounds, scaling)


Loss = Callable[[Array, slice], tuple[float, Array]]  # of scores (n, K) of some rows: the cost and its gradient


def _descend(
    rows: Rows, K: int, loss: Loss, strength: float, rounds: int, scaling: Scaling, tol: float = DOUBLE
) -> Linear:
    D = rows.shape[1]
    spread = np.float32(scaling.spread)

    def objective(flat: Floats) -> tuple[float, Floats]:
        weights, offset = _shape(flat, D, K)
        inner = Linear(weights / spread, offset)
        cost = 0.5 / strength * float(np.vdot(weights, weights))
        slope, lift = np.zeros((D, K)), np.zeros(K)
        for here, block in number_blocks(rows):
            block = block if scaling.centre is None else block - scaling.centre
            part, slack = loss(inner.score(block), here)
            slack = slack.astype(np.float32)
            cost += part
            slope += block.T @ slack
            lift += slack.sum(axis=0)
        gradient = np.vstack([slope / spread + weights / np.float32(strength), lift[None]])
        return cost, gradient.ravel()

    options = {"maxiter": rounds, "maxfun": 2 * rounds, "ftol": tol}
    best = minimize(objective, np.zeros((D + 1) * K), jac=True, method="L-BFGS-B", options=options)
    weights, offset = _shape(best.x, D, K)
    weights /= spread
    return Linear(weights, offset if scaling.centre is None else offset - scaling.centre @ weights)


def _shape(flat: Floats, D: int, K: int) -> Linear:
    table = flat.reshape(D + 1, K).astype(np.float32)
    return Linear(table[:D], table[D])
