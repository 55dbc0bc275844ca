"""Region scores smoothed over the similarity graph of a photo.

The graph links all pairs of regions of a photo, adjacent or not. Regions j and m, with vectors x and shares a of the
photo's area, have the similarity

    T_jm  proportional to  a_m exp(-d_jm / 2 bandwidth),   m != j,   sum_m T_jm = 1,

where d_jm = |x_j - x_m|^2 is the distance of their appearance. Where attribute probabilities q are known, a part t of d
is the distance of their attributes:

    d_jm = (1 - t) |x_j - x_m|^2 + t |q_j - q_m|^2 (mean of |x - x'|^2 / mean of |q - q'|^2 in the photo).

Similarity by attributes is more reliable than similarity by appearance (`adjust_smoothing`).
"""

from collections.abc import Sequence
from typing import cast

import numpy as np

from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array, Floats

BANDWIDTH = 0.06
MAX_SMOOTHING = 0.999  # of the strength; at 1 all regions of a photo would have the same score
MIN_ATTRIBUTE_DISTANCE = 1e-9  # a smaller mean of |q - q'|^2 is rounding


def smooth_scores(
    scores: Array, distance: Floats, area: Floats, smoothing: float, *, bandwidth: float = BANDWIDTH
) -> Floats:
    """(R, C) smoothed scores s' of one photo from `scores` (R, C), `distance` (R, R) of its regions and `area` (R,).

    With the smoothing strength f, they solve

        s' = (1 - f) s + f T s',      that is,   s' = (1 - f) (1 - f T)^-1 s,

    the mean of a Gaussian field in which similar regions have similar scores. Similar regions count f / (1 - f) times
    as much as the region's own score.
    """
    n_regions = len(scores)
    if n_regions == 1:
        return scores.astype(np.float64)
    to_others = np.where(np.eye(n_regions, dtype=bool), np.inf, distance)
    nearest = to_others.min(axis=1, keepdims=True)  # subtracted so that no row of the similarity underflows to zero
    similarity: Floats = np.exp((nearest - to_others) / (2.0 * bandwidth)) * area
    similarity /= similarity.sum(axis=1, keepdims=True)
    system: Floats = np.eye(n_regions) - smoothing * similarity
    return cast("Floats", np.linalg.solve(system, (1.0 - smoothing) * scores.astype(np.float64)))


def smooth_photos(scores: Array, photos: Sequence[PhotoFeatures], X: Array, smoothing: float) -> Floats:
    """(N, C) `scores` (N, C) of the regions of all photos, smoothed within each photo by the distances of X (N, d).

    A score of minus infinity excludes a class from a photo, and stays.
    """
    smoothed, first = np.full(scores.shape, -np.inf), 0
    for photo in photos:
        rows = slice(first, first + len(photo.features))
        possible = np.isfinite(scores[rows]).all(axis=0)
        distance, area = compute_appearance_distance(X[rows]), photo.area.astype(np.float64)
        smoothed[rows, possible] = smooth_scores(scores[rows][:, possible], distance, area, smoothing)
        first = rows.stop
    return smoothed


def adjust_smoothing(smoothing: float, part: float) -> float:
    """The smoothing strength where attributes are a `part` t of the distance, from that by appearance alone.

    Similar regions then count 1 / (1 - t) times as much, relative to the region's own score.
    """
    return smoothing / (smoothing + (1.0 - smoothing) * (1.0 - part))


def compute_appearance_distance(X: Array) -> Floats:
    """(R, R) |x_j - x_m|^2 of vectors X (R, d)."""
    product = (X @ X.T).astype(np.float64)
    square = np.diag(product)
    return np.maximum(square[:, None] + square - 2.0 * product, 0.0)


def add_attribute_distance(appearance_distance: Floats, attribute_probability: Array, part: float) -> Floats:
    """(R, R) d: `appearance_distance` (R, R) mixed with the distance of `attribute_probability` (R, K_a).

    Where all regions have the same attribute probabilities, the appearance distance is returned unchanged.
    """
    q = attribute_probability.astype(np.float64)
    square = np.sum(q**2, axis=1)
    attribute_distance = np.maximum(square[:, None] + square - 2.0 * (q @ q.T), 0.0)
    mean = attribute_distance.mean()
    if mean < MIN_ATTRIBUTE_DISTANCE:
        return appearance_distance
    return (1.0 - part) * appearance_distance + part * appearance_distance.mean() / mean * attribute_distance
