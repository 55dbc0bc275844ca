"""Where the objects of a photo are, its tags known."""

import numpy as np

from tagsight.readout.kinship import Kinship, spread_scores
from tagsight.readout.regions import Regions
from tagsight.types import Array, Floats, Ints

TRUST = 0.2  # weight of the model's log-odds, which count correlated features many times, beside the cue's
SURE = 40.0  # log-odds beyond this say no more


def locate_objects(
    regions: Regions, cue: Array, log_odds: Array, objects: Array, *, background: float, kinship: Kinship
) -> Ints:
    """(N,) 0 background, 1.. objects.

    The score of a tagged object is the cue's (N, K_o) and the model's (N, K_o) together, shared among kin. A region
    is the object of highest score among the photo's tags (I, K_o); the share `background` of all regions, those of
    lowest score, is nothing.
    """
    evidence = cue + TRUST * np.clip(log_odds, -SURE, SURE)
    best = np.empty(len(evidence))
    which = np.zeros(len(evidence), np.int64)
    for (rows, area), tagged in zip(_rows(regions), objects.astype(bool), strict=True):
        settled = spread_scores(evidence[rows], regions.X[rows], area, kinship)
        allowed: Floats = np.where(tagged, settled, -np.inf)
        best[rows] = allowed.max(axis=1, initial=-np.inf)
        which[rows] = allowed.argmax(axis=1) + 1
    cut = np.quantile(best[np.isfinite(best)], background) if np.isfinite(best).any() else np.inf
    return np.where(best > cut, which, 0)


def _rows(regions: Regions) -> list[tuple[slice, Floats]]:
    starts = regions.starts
    return [(slice(starts[i], starts[i + 1]), photo.area) for i, photo in enumerate(regions.photos)]
