"""Where in the training photos each factor is strongest."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tagsight.types import Array, Ints

PER_FACTOR = 6


class TopRegion(NamedTuple):
    """A region of a photo."""

    photo: int
    region: int  # of the photo
    score: float  # log-odds


TopRegions = tuple[tuple[TopRegion, ...], ...]  # of each factor, strongest first


def find_top_regions(log_odds: Array, groups: Ints, first_photo: int = 0) -> TopRegions:
    """The strongest regions of each factor, at most one a photo, from log-odds (N, K) of a run of photos."""
    starts = np.searchsorted(groups, np.arange(int(groups.max(initial=-1)) + 1))
    return tuple(_strongest(log_odds[:, k], groups, starts, first_photo) for k in range(log_odds.shape[1]))


def merge_top_regions(batches: Sequence[TopRegions]) -> TopRegions:
    """The strongest of all runs, which are given in the order of their photos."""
    factors = zip(*batches, strict=True)
    joined = [[spot for top_regions in factor for spot in top_regions] for factor in factors]
    return tuple(tuple(sorted(top_regions, key=lambda spot: -spot.score)[:PER_FACTOR]) for top_regions in joined)


def _strongest(scores: Array, groups: Ints, starts: Ints, first_photo: int) -> tuple[TopRegion, ...]:
    """Rows that are off or forbidden do not count."""
    best: dict[int, TopRegion] = {}
    for row in np.argsort(-scores, kind="stable"):
        if scores[row] <= 0 or len(best) == PER_FACTOR:
            break
        photo = int(groups[row])
        if photo not in best:
            best[photo] = TopRegion(first_photo + photo, int(row - starts[photo]), float(scores[row]))
    return tuple(best.values())
