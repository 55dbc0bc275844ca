"""Calibration: from log-odds to probabilities that match observed frequencies.

A region's posterior is overconfident, since its many features are not independent. On photos held out from training,
the log-odds s of each tag are compared with whether the photo has the tag (`training/held_out.py`), and

    P(tag | s, w) = 1 / (1 + exp(-(a s + c w + b)))                             (after Platt, 1999)

is fitted, with one (a, c, b) for objects and one for attributes, and a, c >= 0. Here w is the log-odds of a classifier
of the whole photo; without one, c = 0.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from tagsight.types import Array, Floats

BINS = 10
MAX_CALIBRATION_LOG_ODDS = 50.0  # larger log-odds are clipped


class Calibration(NamedTuple):
    """The map for one kind of tag, and its error on pairs of photo and tag that it was not fitted to."""

    slope: float  # a
    offset: float  # b
    error: float | None  # expected calibration error; None where it was not measured
    photo_slope: float = 0.0  # c

    def apply(self, log_odds: Array, photo_log_odds: Array | float = 0.0) -> Floats:
        """Calibrated probabilities, of the shape of `log_odds`."""
        return expit(self.slope * _clip(log_odds) + self.photo_slope * _clip(photo_log_odds) + self.offset)


UNCALIBRATED = Calibration(1.0, 0.0, None)


def fit_calibration(log_odds: Array, truth: Array, photo_log_odds: Array | None = None) -> Calibration:
    """Calibration fitted to pairs (n,) with `truth` 0 or 1; its error comes from a fit to one half of the pairs.

    Returns UNCALIBRATED where all pairs have the same truth.
    """
    if len(np.unique(truth)) < 2:
        return UNCALIBRATED
    scores = np.stack([log_odds] if photo_log_odds is None else [log_odds, photo_log_odds], axis=1)
    half = _fit(scores[::2], truth[::2])
    error = compute_calibration_error(half.apply(*scores[1::2].T), truth[1::2])
    return _fit(scores, truth)._replace(error=error)


def compute_calibration_error(probability: Array, truth: Array) -> float:
    """Mean over bins of |share of true pairs - mean probability|, weighted by the size of the bin."""
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    gap = np.bincount(bins, truth - probability, BINS)
    return float(np.sum(np.abs(gap)) / len(probability))


def _fit(scores: Array, truth: Array) -> Calibration:
    """Logistic regression of `truth` (n,) on one or two scores (n, 1 or 2)."""
    design = np.hstack([_clip(scores), np.ones((len(scores), 1))])
    y = truth.astype(np.float64)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        eta = design @ parameters
        return float(np.mean(np.logaddexp(0.0, eta) - y * eta)), design.T @ (expit(eta) - y) / len(y)

    n = scores.shape[1]
    bounds = [(0.0, None)] * n + [(None, None)]
    start = np.array([0.1] * n + [0.0])
    slope, *photo_slope, offset = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return Calibration(float(slope), float(offset), None, *map(float, photo_slope))


def _clip(scores: Array | float) -> Floats:
    return np.clip(np.asarray(scores, np.float64), -MAX_CALIBRATION_LOG_ODDS, MAX_CALIBRATION_LOG_ODDS)
