"""From log-odds to probabilities that mean what they say.

A region's posterior is far too sure of itself, since its many features are not independent. On photos held out
from training, the log-odds s of each tag are compared with whether the photo has the tag, and

    P(tag | s) = 1 / (1 + exp(-(a s + b)))                                     (Platt, 1999)

is fitted, one (a, b) for objects and one for attributes, with a >= 0.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from tagsight.types import Array, Floats

BINS = 10
BOUND = 50.0  # log-odds beyond this say no more


class Calibration(NamedTuple):
    """The map for one kind of tag, and how well it held on photos it was not fitted to."""

    slope: float
    offset: float
    error: float | None  # expected calibration error; None where there was nothing to measure it on

    def apply(self, log_odds: Array) -> Floats:
        """Probabilities."""
        return expit(self.slope * np.clip(log_odds, -BOUND, BOUND) + self.offset)


UNCALIBRATED = Calibration(1.0, 0.0, None)


def fit_calibration(log_odds: Array, truth: Array) -> Calibration:
    """Fit to one half of the pairs, measure on the other, then fit to all; `truth` is 0 or 1."""
    if len(np.unique(truth)) < 2:
        return UNCALIBRATED
    slope, offset = _fit(log_odds[::2], truth[::2])
    error = calibration_error(Calibration(slope, offset, None).apply(log_odds[1::2]), truth[1::2])
    slope, offset = _fit(log_odds, truth)
    return Calibration(slope, offset, error)


def calibration_error(probability: Array, truth: Array) -> float:
    """Mean over bins of |share that is true - mean probability|, weighted by the size of the bin."""
    place = np.minimum((probability * BINS).astype(int), BINS - 1)
    gap = np.bincount(place, truth - probability, BINS)
    return float(np.sum(np.abs(gap)) / len(probability))


def _fit(log_odds: Array, truth: Array) -> tuple[float, float]:
    s = np.clip(log_odds, -BOUND, BOUND).astype(np.float64)
    y = truth.astype(np.float64)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        eta = parameters[0] * s + parameters[1]
        slack = expit(eta) - y
        return float(np.mean(np.logaddexp(0.0, eta) - y * eta)), np.array([np.mean(slack * s), np.mean(slack)])

    best = minimize(loss, np.array([0.1, 0.0]), jac=True, method="L-BFGS-B", bounds=[(0.0, None), (None, None)])
    return float(best.x[0]), float(best.x[1])
