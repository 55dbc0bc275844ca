"""Scores shared among the regions of a photo that look alike, wherever in it they lie.

Regions j and m of a photo, with unit vectors x and shares of its area a, are kin by

    T_jm  proportional to  a_m exp(-|x_j - x_m|^2 / 2 reach),   m != j,   sum_m T_jm = 1,

and scores s settle where each region keeps a part of its own and takes the rest from its kin:

    s' = (1 - flow) s + flow T s',      that is,   s' = (1 - flow) (1 - flow T)^-1 s.

It is the mean of a Gaussian field over all pairs of regions of the photo, in which what looks alike is alike: the
spatial field of the model links neighbours whether they look alike or not.
"""

import numpy as np

from tagsight.types import Array, Floats

REACH = 0.06


def spread_scores(scores: Array, X: Array, area: Floats, flow: float, *, reach: float = REACH) -> Floats:
    """(R, C) settled scores of one photo from `scores` (R, C), unit vectors X (R, d) and `area` (R,)."""
    n_regions = len(X)
    if n_regions == 1:
        return scores.astype(np.float64)
    distance = np.maximum(2.0 - 2.0 * (X @ X.T).astype(np.float64), 0.0)
    np.fill_diagonal(distance, np.inf)
    nearest = distance.min(axis=1, keepdims=True)  # the exponent's largest term at 1: no row vanishes
    kin = np.exp((nearest - distance) / (2.0 * reach)) * area
    kin /= kin.sum(axis=1, keepdims=True)
    return np.linalg.solve(np.eye(n_regions) - flow * kin, (1.0 - flow) * scores.astype(np.float64))
