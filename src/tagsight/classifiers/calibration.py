"""From log-odds to probabilities that mean what they say.

A region's posterior is far too sure of itself, since its many features are not independent. On photos held out
from training, the log-odds s of each tag are compared with whether the photo has the tag (`training/held_out.py`), and

    P(tag | s, w) = 1 / (1 + exp(-(a s + c w + b)))                             (after Platt, 1999)

is fitted, one (a, c, b) for objects and one for attributes, with a, c >= 0. Where the photo as a whole has a score w of
its own beside that of its regions, c says how much it counts; else c = 0.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from tagsight.types import Array, Floats

BINS = 10
BOUND = 50.0  # log-odds beyond this say no more


class Calibration(NamedTuple):
    """The map for one kind of tag, and how well it held on pairs of photo and tag that it was not fitted to."""

    slope: float
    offset: float
    error: float | None  # expected calibration error; None where there was nothing to measure it on
    whole: float = 0.0  # how much the score of the photo as a whole counts

    def apply(self, log_odds: Array, whole: Array | float = 0.0) -> Floats:
        """Probabilities."""
        return expit(self.slope * _bound(log_odds) + self.whole * _bound(whole) + self.offset)


UNCALIBRATED = Calibration(1.0, 0.0, None)


def fit_calibration(log_odds: Array, truth: Array, whole: Array | None = None) -> Calibration:
    """Fit to one half of the pairs, measure on the other, then fit to all; `truth` is 0 or 1."""
    if len(np.unique(truth)) < 2:
        return UNCALIBRATED
    scores = np.stack([log_odds] if whole is None else [log_odds, whole], axis=1)
    half = _fit(scores[::2], truth[::2])
    error = calibration_error(half.apply(*scores[1::2].T), truth[1::2])
    return _fit(scores, truth)._replace(error=error)


def calibration_error(probability: Array, truth: Array) -> float:
    """Mean over bins of |share that is true - mean probability|, weighted by the size of the bin."""
    place = np.minimum((probability * BINS).astype(int), BINS - 1)
    gap = np.bincount(place, truth - probability, BINS)
    return float(np.sum(np.abs(gap)) / len(probability))


def _fit(scores: Array, truth: Array) -> Calibration:
    """From one score (n, 1) or two (n, 2)."""
    design = np.hstack([_bound(scores), np.ones((len(scores), 1))])
    y = truth.astype(np.float64)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        eta = design @ parameters
        return float(np.mean(np.logaddexp(0.0, eta) - y * eta)), design.T @ (expit(eta) - y) / len(y)

    n = scores.shape[1]
    bounds = [(0.0, None)] * n + [(None, None)]
    slope, *whole, offset = minimize(loss, np.array([0.1] * n + [0.0]), jac=True, method="L-BFGS-B", bounds=bounds).x
    return Calibration(float(slope), float(offset), None, *map(float, whole))


def _bound(scores: Array | float) -> Floats:
    return np.clip(np.asarray(scores, np.float64), -BOUND, BOUND)
