"""Where the objects of a photo are, its tags known."""

import numpy as np

from tagsight.readout.kinship import Kinship, spread_scores
from tagsight.readout.regions import Regions
from tagsight.types import Array, Floats, Ints

TRUST = 0.2  # weight of the model's log-odds, which count correlated features many times, beside the cue's
SURE = 40.0  # log-odds beyond this say no more


BINS = 256


def locate_objects(regions: Regions, cue: Array, log_odds: Array, objects: Array, kinship: Kinship) -> Ints:
    """(N,) 0 background, 1.. objects.

    The score of a tagged object is the cue's (N, K_o) and the model's (N, K_o) together, shared among kin. A region
    is the object of highest score among the photo's tags (I, K_o), or nothing if that score is on the low side of
    the cut that parts all of them best.
    """
    evidence = cue + TRUST * np.clip(log_odds, -SURE, SURE)
    best = np.empty(len(evidence))
    which = np.zeros(len(evidence), np.int64)
    for (rows, area), tagged in zip(regions.each_place(), objects.astype(bool), strict=True):
        settled = spread_scores(evidence[rows], regions.X[rows], area, kinship)
        allowed: Floats = np.where(tagged, settled, -np.inf)
        best[rows] = allowed.max(axis=1, initial=-np.inf)
        which[rows] = allowed.argmax(axis=1) + 1
    tagged_regions = np.isfinite(best)
    return np.where(best > part_in_two(best[tagged_regions]), which, 0) if tagged_regions.any() else which * 0


def part_in_two(values: Floats) -> float:
    """The cut with the largest variance between the two sides (Otsu, 1979)."""
    count, edges = np.histogram(values, BINS)
    below = np.cumsum(count)[:-1]
    total = np.cumsum(count * (edges[:-1] + edges[1:]) / 2)
    above = len(values) - below
    apart = (total[-1] * below / len(values) - total[:-1]) ** 2 / np.maximum(below * above, 1)
    return float(edges[1 + np.argmax(apart)])
