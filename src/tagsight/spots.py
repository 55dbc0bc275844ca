"""Where in the training photos each factor is strongest."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tagsight.types import Array, Ints

PER_FACTOR = 6


class Spot(NamedTuple):
    """A region of a photo."""

    photo: int
    region: int  # of the photo
    score: float  # log-odds


Spots = tuple[tuple[Spot, ...], ...]  # of each factor, strongest first


def find_spots(log_odds: Array, groups: Ints, first_photo: int = 0) -> Spots:
    """The strongest regions of each factor, at most one a photo, from log-odds (N, K) of a run of photos."""
    starts = np.searchsorted(groups, np.arange(int(groups.max(initial=-1)) + 1))
    return tuple(_strongest(log_odds[:, k], groups, starts, first_photo) for k in range(log_odds.shape[1]))


def merge_spots(runs: Sequence[Spots]) -> Spots:
    """The strongest of all runs, which are given in the order of their photos."""
    factors = zip(*runs, strict=True)
    joined = [[spot for spots in factor for spot in spots] for factor in factors]
    return tuple(tuple(sorted(spots, key=lambda spot: -spot.score)[:PER_FACTOR]) for spots in joined)


def _strongest(scores: Array, groups: Ints, starts: Ints, first_photo: int) -> tuple[Spot, ...]:
    """Rows that are off or forbidden do not count."""
    best: dict[int, Spot] = {}
    for row in np.argsort(-scores, kind="stable"):
        if scores[row] <= 0 or len(best) == PER_FACTOR:
            break
        photo = int(groups[row])
        if photo not in best:
            best[photo] = Spot(first_photo + photo, int(row - starts[photo]), float(scores[row]))
    return tuple(best.values())
