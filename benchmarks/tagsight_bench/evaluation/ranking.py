"""Ranking measures of scores against binary truth.

Items with equal scores are retrieved together: a curve has one point per distinct score, so ties have no order. With
n the points from the highest score down, TP_n and FP_n the retrieved true and false items and P the true items,

    precision P_n = TP_n / (TP_n + FP_n),     recall R_n = TP_n / P.

An undefined measure is nan, and means are taken over defined ones.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from tagsight.types import Array, Floats

Measure = Callable[[Array, Array], float]  # (scores, truth) -> measure


class Curve(NamedTuple):
    """Precision and recall at each distinct score, from the highest score down."""

    precision: Floats
    recall: Floats


def trace_curve(score: Array, truth: Array) -> Curve:
    """The curve of `score` (n,) against `truth` (n,), 0 or 1 with at least one 1."""
    order = np.argsort(-score, kind="stable")
    ranked = score[order]
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)  # of each group of ties
    hits = np.cumsum(truth[order].astype(np.int64))[last]
    return Curve(hits / (last + 1), hits / hits[-1])


def average_precision(score: Array, truth: Array) -> float:
    """AP = sum_n (R_n - R_{n-1}) P_n; nan if nothing is true."""
    if not np.any(truth):
        return float("nan")
    curve = trace_curve(score, truth)
    return float(np.sum(np.diff(curve.recall, prepend=0.0) * curve.precision))


def average_recall(score: Array, truth: Array) -> float:
    """AR = integral over precision p from 0 to 1 of R(p), the best recall at a precision of at least p.

    R(p) = max {R_n : P_n >= p}, or 0 where no point reaches p. It is piecewise constant, so the integral is exact.
    It is the area under the union of the rectangles [0, R_n] x [0, P_n], hence equal to the average over
    recalls of the interpolated precision (PASCAL VOC since 2010), and never below `average_precision`. nan if
    nothing is true.
    """
    if not np.any(truth):
        return float("nan")
    curve = trace_curve(score, truth)
    order = np.argsort(-curve.precision, kind="stable")
    precision = np.append(curve.precision[order], 0.0)
    reached = np.maximum.accumulate(curve.recall[order])
    return float(np.sum((precision[:-1] - precision[1:]) * reached))


def area_under_roc(score: Array, truth: Array) -> float:
    """P(a true item scores above a false one), ties counting half; nan without true or without false items."""
    positives = truth.astype(bool)
    n, m = int(positives.sum()), int((~positives).sum())
    if n == 0 or m == 0:
        return float("nan")
    rank = rankdata(score)
    return float((rank[positives].sum() - n * (n + 1) / 2) / (n * m))


def interpolate_precision(curve: Curve, recalls: Array) -> Floats:
    """(len(recalls),) the best precision at a recall of at least r, for each r."""
    best = np.maximum.accumulate(curve.precision[::-1])[::-1]
    return best[np.searchsorted(curve.recall, recalls, side="left")]


def measure_columns(measure: Measure, score: Array, truth: Array) -> Floats:
    """(K,) a measure of each column of `score` (n, K) against `truth` (n, K)."""
    return np.array([measure(s, t) for s, t in zip(score.T, truth.T, strict=True)])
