"""Photos that best fit a query, exactly as if every region of every photo had been scored.

With p_rk the probability of factor k in region r, a thing of factors T scores s_T = max_r prod_{k in T} p_rk in a
photo, and several things score the product of theirs: the probability that all are there, were they independent.
(The least of them would ignore how sure the others are.) The region of a thing is the argmax, the first among equals.

Since max_r prod_k p_rk <= prod_k max_r p_rk, the stored maxima bound every photo's score. Photos are taken from the
highest bound down, and their regions read, until no bound that is left reaches the last place of the list. Products
are of levels, in float64 and always in the same order: rounding is monotone, so a bound stays one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tagsight.index.query import Query
from tagsight.index.snapshot import Box, Snapshot
from tagsight.predict.probabilities import LEVELS
from tagsight.types import Array, Floats, Ints

PRESENT = 0.5  # an excluded word must be less probable than this in every region
FIRST = 512  # photos whose regions are read at first; reading fewer takes as long
GROWTH = 8
MOST = 16_384  # photos read together, so that memory stays small
BLOCK = 512  # photos multiplied at a time, so that the products stay in the processor's cache


class Match(NamedTuple):
    """Where one thing of the query is."""

    factors: tuple[str, ...]
    score: float
    region: int
    box: Box


class Hit(NamedTuple):
    """A photo that fits."""

    photo: int  # its number, stable while the photo stays as it is
    path: str  # relative to the collection's root
    size: tuple[int, int]  # (W, H)
    score: float
    matches: tuple[Match, ...]  # one a thing, in the order of the query

    def to_json(self) -> dict[str, Any]:
        """As `find --json` prints it."""
        return {**self._asdict(), "matches": [match._asdict() for match in self.matches]}


class Ranking(NamedTuple):
    """Photos with their exact scores, and for each thing its region and score."""

    photos: Array  # (n,) int64
    scores: Array  # (n,) float64
    regions: Array  # (n, T) int64
    parts: Array  # (n, T) float64


def search(snapshot: Snapshot, query: Query, *, top: int | None, threshold: float = 0.0, start: int = 0) -> list[Hit]:
    """The best `top` photos (all, if None) that score at least `threshold`, but for the first `start` of them.

    Equals come in order of their numbers.
    """
    top = None if top is None else start + top
    places, bounds = bound_photos(snapshot, query)
    photos = snapshot.photos[places]
    waiting = bounds >= threshold
    left = np.flatnonzero(waiting)
    best = _no_photos(len(query.things))
    exact = all(len(thing) == 1 for thing in query.things)
    helping = len(left) if top is None else top if exact else max(FIRST, top)
    while len(left):
        now = take_best(bounds, photos, left, min(helping, MOST))
        waiting[now] = False
        best = merge(best, score_photos(snapshot, query, places[now]), top, threshold)
        if len(best.photos) == top:
            score, photo = best.scores[-1], best.photos[-1]
            waiting &= (bounds > score) | ((bounds == score) & (photos < photo))
        left = np.flatnonzero(waiting)
        helping *= GROWTH
    return locate(snapshot, query, Ranking(*(column[start:] for column in best)))


def count_hits(snapshot: Snapshot, query: Query, threshold: float) -> int:
    """How many photos score at least `threshold`."""
    key = ("count", query, threshold)
    before = snapshot.recall(key)
    if before is not None:
        return before
    places, bounds = bound_photos(snapshot, query)
    left = places[bounds >= threshold]
    count = len(left)
    if threshold > 0 and any(len(thing) > 1 for thing in query.things):
        blocks = [left[first : first + MOST] for first in range(0, len(left), MOST)]
        count = sum(int((score_photos(snapshot, query, some).scores >= threshold).sum()) for some in blocks)
    snapshot.remember(key, count, 100)
    return count


def bound_photos(snapshot: Snapshot, query: Query) -> tuple[Ints, Floats]:
    """The places of all photos without the excluded words, and scores they cannot exceed."""
    tops = snapshot.read_tops([*(k for thing in query.things for k in thing), *query.without])
    bounds = np.ones(len(snapshot.photos))
    for thing in query.things:
        bounds *= multiply([tops[k] for k in thing])
    allowed = np.ones(len(bounds), bool)
    for k in query.without:
        allowed &= tops[k] < PRESENT * LEVELS
    places = np.flatnonzero(allowed)
    return places, bounds[places]


def take_best(bounds: Floats, photos: Ints, left: Ints, count: int) -> Ints:
    """Those among `left` with the highest bounds, with the lowest numbers among equals."""
    if count >= len(left):
        return left
    scores = bounds[left]
    cut = np.partition(scores, len(scores) - count)[len(scores) - count]
    above, equal = left[scores > cut], left[scores == cut]
    lowest = np.argsort(photos[equal], kind="stable")
    return np.concatenate([above, equal[lowest][: count - len(above)]])


def score_photos(snapshot: Snapshot, query: Query, places: Ints) -> Ranking:
    """Exact scores of the photos at some places, and where they come from."""
    photos, starts, levels = snapshot.read_levels(sorted({k for thing in query.things for k in thing}), places)
    parts = np.empty((len(photos), len(query.things)))
    regions = np.empty(parts.shape, np.int64)
    for first in range(0, len(photos), BLOCK):
        bounds = starts[first : first + BLOCK + 1]
        rows = slice(first, first + len(bounds) - 1)
        for t, thing in enumerate(query.things):
            product = multiply([levels[k][bounds[0] : bounds[-1]] for k in thing])
            parts[rows, t] = np.maximum.reduceat(product, bounds[:-1] - bounds[0])
            regions[rows, t] = first_places(product, parts[rows, t], bounds - bounds[0])
    scores = np.ones(len(photos))
    for t in range(len(query.things)):
        scores *= parts[:, t]
    return Ranking(photos, scores, regions, parts)


def first_places(values: Array, highest: Array, starts: Ints) -> Ints:
    """For each stretch of `values` the first place, counted in it, that holds its highest value."""
    places = np.flatnonzero(values == np.repeat(highest, np.diff(starts)))
    first = np.searchsorted(places, starts[:-1])
    return places[first] - starts[:-1]


def multiply(levels: Sequence[Array]) -> Floats:
    """The product of probabilities stored as levels."""
    product = levels[0] / np.float64(LEVELS)
    for one in levels[1:]:
        product *= one / np.float64(LEVELS)
    return product


def merge(one: Ranking, other: Ranking, top: int | None, threshold: float) -> Ranking:
    """The best of both, best first."""
    both = Ranking(*(np.concatenate(pair) for pair in zip(one, other, strict=True)))
    order = np.lexsort((both.photos, -both.scores))
    order = order[both.scores[order] >= threshold][:top]
    return Ranking(*(column[order] for column in both))


def locate(snapshot: Snapshot, query: Query, best: Ranking) -> list[Hit]:
    """The photos of a ranking with paths and boxes, in its order."""
    rows = snapshot.describe_photos(best.photos)
    names = [tuple(snapshot.words.shown[k] for k in thing) for thing in query.things]
    hits: list[Hit] = []
    for photo, score, regions, parts in zip(*(column.tolist() for column in best), strict=True):
        row = rows[photo]
        matches = [
            Match(name, part, region, row.get_box(region))
            for name, part, region in zip(names, parts, regions, strict=True)
        ]
        hits.append(Hit(photo, row.path, row.size, score, tuple(matches)))
    return hits


def _no_photos(n_things: int) -> Ranking:
    numbers, places = np.empty(0, np.int64), np.empty((0, n_things), np.int64)
    return Ranking(numbers, np.empty(0), places, np.empty((0, n_things)))
