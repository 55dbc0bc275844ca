"""Linear classifiers with soft targets, by L-BFGS.

scikit-learn's take hard labels and one problem at a time; here all columns of a problem share each product with X,
which is nearly all of the work.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from tagsight.types import Array, Floats


class Linear(NamedTuple):
    """x -> x weights + offset."""

    weights: Array  # (D, K)
    offset: Array  # (K,)

    def score(self, X: Array) -> Array:
        """(N, K)."""
        return X @ self.weights + self.offset


def fit_softmax(X: Array, targets: Array, weight: Floats, *, strength: float, rounds: int = 100) -> Linear:
    """Multinomial regression: minimise -sum_j weight_j sum_k targets_jk log softmax_k(x_j W + b) + |W|^2 / 2 strength.

    Rows of `targets` (N, K) add to one.
    """
    wanted = targets.astype(np.float32) * weight[:, None].astype(np.float32)

    def loss(scores: Array) -> tuple[float, Array]:
        log_share = log_softmax(scores, axis=1)
        slack = np.exp(log_share) * weight[:, None].astype(np.float32) - wanted
        return -float(np.vdot(wanted, log_share)), slack

    return _descend(X, targets.shape[1], loss, strength, rounds)


def fit_logistic(X: Array, targets: Array, weight: Array, *, strength: float, rounds: int = 150) -> Linear:
    """One logistic regression a column: minimise -sum_jk weight_jk log P(targets_jk) + |W|^2 / 2 strength.

    `targets` (N, K) lie in [0, 1]; `weight` is (N, K) or broadcasts to it.
    """
    wanted = targets.astype(np.float32)

    def loss(scores: Array) -> tuple[float, Array]:
        cost = np.sum(weight * (np.logaddexp(0.0, scores) - wanted * scores), dtype=np.float64)
        return float(cost), (expit(scores) - wanted) * weight

    return _descend(X, targets.shape[1], loss, strength, rounds)


Loss = Callable[[Array], tuple[float, Array]]  # of scores (N, K): the cost and its gradient


def _descend(X: Array, K: int, loss: Loss, strength: float, rounds: int) -> Linear:
    D = X.shape[1]

    def objective(flat: Floats) -> tuple[float, Floats]:
        linear = _shape(flat, D, K)
        cost, slack = loss(linear.score(X))
        slack = slack.astype(np.float32)
        penalty = 0.5 / strength * float(np.vdot(linear.weights, linear.weights))
        gradient = np.vstack([X.T @ slack + linear.weights / np.float32(strength), slack.sum(axis=0)[None]])
        return cost + penalty, gradient.ravel().astype(np.float64)

    options = {"maxiter": rounds, "maxfun": 2 * rounds}
    best = minimize(objective, np.zeros((D + 1) * K), jac=True, method="L-BFGS-B", options=options)
    return _shape(best.x, D, K)


def _shape(flat: Floats, D: int, K: int) -> Linear:
    table = flat.reshape(D + 1, K).astype(np.float32)
    return Linear(table[:D], table[D])
