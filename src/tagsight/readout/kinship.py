"""Scores shared among the regions of a photo that are alike, wherever in it they lie.

Regions j and m of a photo, with unit vectors x and shares of its area a, are kin by

    T_jm  proportional to  a_m exp(-d_jm / 2 reach),   m != j,   sum_m T_jm = 1,

where d_jm = |x_j - x_m|^2: they look alike. Where traits q are known, what regions are like, a part t of d is by them:

    d_jm = (1 - t) |x_j - x_m|^2 + t |q_j - q_m|^2 (mean of |x - x'|^2 / mean of |q - q'|^2 in the photo).

Scores s settle where each region keeps a part of its own and takes the rest from its kin:

    s' = (1 - flow) s + flow T s',      that is,   s' = (1 - flow) (1 - flow T)^-1 s.

It is the mean of a Gaussian field over all pairs of regions of the photo, in which what is alike has like scores: the
spatial field of the model links neighbours whether they are alike or not. Kin hold a region flow / (1 - flow) times as
hard as its own score does; kin by traits, too, are surer, and hold it 1 / (1 - t) times as hard again (`raise_flow`).
"""

import numpy as np

from tagsight.types import Array, Floats

REACH = 0.06
SAME = 1e-9  # mean of |q - q'|^2 that is rounding


def spread_scores(scores: Array, distance: Floats, area: Floats, flow: float, *, reach: float = REACH) -> Floats:
    """(R, C) settled scores of one photo from `scores` (R, C), `distance` (R, R) of its regions and `area` (R,)."""
    n_regions = len(scores)
    if n_regions == 1:
        return scores.astype(np.float64)
    apart = np.where(np.eye(n_regions, dtype=bool), np.inf, distance)
    nearest = apart.min(axis=1, keepdims=True)  # the exponent's largest term at 1: no row vanishes
    kin = np.exp((nearest - apart) / (2.0 * reach)) * area
    kin /= kin.sum(axis=1, keepdims=True)
    return np.linalg.solve(np.eye(n_regions) - flow * kin, (1.0 - flow) * scores.astype(np.float64))


def raise_flow(flow: float, part: float) -> float:
    """Of scores among kin of whose distance traits have a `part`, from the `flow` among kin by looks alone."""
    return flow / (flow + (1.0 - flow) * (1.0 - part))


def measure_looks(X: Array) -> Floats:
    """(R, R) |x_j - x_m|^2 of unit vectors X (R, d)."""
    return np.maximum(2.0 - 2.0 * (X @ X.T).astype(np.float64), 0.0)


def add_traits(looks: Floats, traits: Array, part: float) -> Floats:
    """(R, R) d: `looks` (R, R), of which `traits` (R, t) replace a `part`, unless they tell nothing apart."""
    q = traits.astype(np.float64)
    square = np.sum(q**2, axis=1)
    unlike = np.maximum(square[:, None] + square - 2.0 * (q @ q.T), 0.0)
    mean = unlike.mean()
    return looks if mean < SAME else (1.0 - part) * looks + part * looks.mean() / mean * unlike
