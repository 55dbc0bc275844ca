"""Where the objects of a photo are, its tags known."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tagsight.readout.kinship import Kinship, spread_scores
from tagsight.readout.regions import Regions
from tagsight.readout.regression import Linear
from tagsight.types import Array, Floats

TRUST = 0.2  # weight of the model's log-odds, which count correlated features many times, beside the cue's
SURE = 40.0  # log-odds beyond this say no more
BINS = 256


class Candidates(NamedTuple):
    """The tagged object that each region is most likely part of, if it is part of any."""

    score: Floats  # (N,) -inf where the photo has no tag
    which: Array  # (N,) int32, 1.. objects
    area: Floats  # (N,) share of the photo
    photo: Array  # (N,) int32


def find_candidates(regions: Regions, cue: Linear, log_odds: Array, objects: Array, kinship: Kinship) -> Candidates:
    """The object of highest score among the tags (I, K_o) of each region's photo.

    The score of an object is the cue's and, as `log_odds` (N, K_o), the model's together, shared among kin.
    """
    n = len(regions.X)
    found = Candidates(np.empty(n), np.zeros(n, np.int32), np.empty(n), np.zeros(n, np.int32))
    for i, ((rows, area, strengths), tagged) in enumerate(zip(regions.each_photo(), objects.astype(bool), strict=True)):
        evidence = cue.score(strengths) + TRUST * np.clip(log_odds[rows], -SURE, SURE)
        settled = spread_scores(evidence, regions.X[rows], area, kinship)
        allowed: Floats = np.where(tagged, settled, -np.inf)
        found.score[rows] = allowed.max(axis=1, initial=-np.inf)
        found.which[rows] = allowed.argmax(axis=1) + 1
        found.area[rows] = area
        found.photo[rows] = i
    return found


def join_candidates(parts: Sequence[Candidates]) -> Candidates:
    """Candidates of one run of photos after the other, photos counted on."""
    first = np.cumsum([0, *(part.photo.max(initial=-1) + 1 for part in parts)]).astype(np.int32)
    counted = [part._replace(photo=part.photo + start) for part, start in zip(parts, first, strict=False)]
    return Candidates._make(np.concatenate(arrays) for arrays in zip(*counted, strict=True))


def locate_objects(candidates: Candidates) -> Array:
    """(N,) 0 background, 1.. objects: a candidate is nothing on the low side of the cut that parts all scores best."""
    score, which, *_ = candidates
    tagged = np.isfinite(score)
    return np.where(score > part_in_two(score[tagged]), which, 0) if tagged.any() else which * 0


def part_in_two(values: Floats) -> float:
    """The cut with the largest variance between the two sides (Otsu, 1979)."""
    count, edges = np.histogram(values, BINS)
    below = np.cumsum(count)[:-1]
    total = np.cumsum(count * (edges[:-1] + edges[1:]) / 2)
    above = len(values) - below
    apart = (total[-1] * below / len(values) - total[:-1]) ** 2 / np.maximum(below * above, 1)
    return float(edges[1 + np.argmax(apart)])
