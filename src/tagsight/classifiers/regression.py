"""Linear classifiers with soft targets, fitted by L-BFGS.

scikit-learn's classifiers take hard labels and fit one column at a time. Here all columns share each product with X,
which is most of the work. Rows are read block by block and need not fit in memory.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from tagsight.classifiers.rows import BlockedRows, enumerate_blocks
from tagsight.types import Array, Floats

SOFTMAX_TOLERANCE, LOGISTIC_TOLERANCE = 6e-8, 2.2e-9  # relative decrease of the loss at which L-BFGS stops


class Linear(NamedTuple):
    """x -> x weights + offset."""

    weights: Array  # (D, K)
    offset: Array  # (K,)

    def score(self, X: Array) -> Array:
        """(N, K) scores of X (N, D)."""
        return X @ self.weights + self.offset


class OneHot:
    """One-hot targets (n, n_classes), built slice by slice."""

    def __init__(self, labels: Array, n_classes: int):
        self._labels = labels
        self.shape = (len(labels), n_classes)

    def __getitem__(self, rows: slice) -> Array:
        return np.eye(self.shape[1], dtype=np.float32)[self._labels[rows]]


Targets = Array | OneHot  # (n, K) target probabilities


class Scaling(NamedTuple):
    """x -> (x - centre) / scale, applied to rows while fitting and folded into the fitted classifier."""

    scale: float = 1.0
    centre: Array | None = None


def fit_softmax(
    rows: BlockedRows,
    targets: Targets,
    weight: Floats,
    *,
    C: float,
    max_iter: int = 100,
    scaling: Scaling = Scaling(),  # noqa: B008
) -> Linear:
    """Multinomial regression: minimise -sum_j weight_j sum_k targets_jk log softmax_k(x_j W + b) + |W|^2 / 2C.

    Rows of `targets` (N, K) add to one. The returned classifier takes unscaled rows.
    """

    def loss(scores: Array, span: slice) -> tuple[float, Array]:
        row_weight = weight[span, None].astype(np.float32)
        target = targets[span].astype(np.float32) * row_weight
        log_probability = log_softmax(scores, axis=1)
        # Summed in double precision: rounding noise of a single-precision sum makes the line search of L-BFGS fail.
        cost = -float(np.sum(target * log_probability, dtype=np.float64))
        return cost, np.exp(log_probability) * row_weight - target

    return _minimise(rows, targets.shape[1], loss, C, max_iter, scaling, tol=SOFTMAX_TOLERANCE)


def fit_logistic(
    rows: BlockedRows,
    targets: Targets,
    weight: Array | None = None,
    *,
    C: float,
    max_iter: int = 150,
    scaling: Scaling = Scaling(),  # noqa: B008
) -> Linear:
    """Independent logistic regressions: minimise -sum_jk weight_jk log P(targets_jk) + |W|^2 / 2C.

    `targets` (N, K) lie in [0, 1]. `weight` is (N, 1) or (N, K); None weighs all rows equally. The returned
    classifier takes unscaled rows.
    """

    def loss(scores: Array, span: slice) -> tuple[float, Array]:
        row_weight = np.float32(1.0) if weight is None else weight[span]
        target = targets[span].astype(np.float32)
        cost = np.sum(row_weight * (np.logaddexp(0.0, scores) - target * scores), dtype=np.float64)
        return float(cost), (expit(scores) - target) * row_weight

    return _minimise(rows, targets.shape[1], loss, C, max_iter, scaling)


Loss = Callable[[Array, slice], tuple[float, Array]]  # scores (n, K) of a slice of rows -> the loss and its gradient


def _minimise(
    rows: BlockedRows, K: int, loss: Loss, C: float, max_iter: int, scaling: Scaling, tol: float = LOGISTIC_TOLERANCE
) -> Linear:
    D = rows.shape[1]
    scale = np.float32(scaling.scale)

    def objective(flat: Floats) -> tuple[float, Floats]:
        weights, offset = _unflatten(flat, D, K)
        scaled = Linear(weights / scale, offset)
        cost = 0.5 / C * float(np.vdot(weights, weights))
        weights_gradient, offset_gradient = np.zeros((D, K)), np.zeros(K)
        for span, block in enumerate_blocks(rows):
            block = block if scaling.centre is None else block - scaling.centre
            block_cost, residual = loss(scaled.score(block), span)
            residual = residual.astype(np.float32)
            cost += block_cost
            weights_gradient += block.T @ residual
            offset_gradient += residual.sum(axis=0)
        gradient = np.vstack([weights_gradient / scale + weights / np.float32(C), offset_gradient[None]])
        return cost, gradient.ravel()

    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "ftol": tol}
    best = minimize(objective, np.zeros((D + 1) * K), jac=True, method="L-BFGS-B", options=options)
    weights, offset = _unflatten(best.x, D, K)
    weights /= scale
    return Linear(weights, offset if scaling.centre is None else offset - scaling.centre @ weights)


def _unflatten(flat: Floats, D: int, K: int) -> Linear:
    table = flat.reshape(D + 1, K).astype(np.float32)
    return Linear(table[:D], table[D])
