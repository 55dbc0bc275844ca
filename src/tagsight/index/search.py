"""Search: the photos that best fit a query, with the same result as scoring every region of every photo.

With p_rk the probability of factor k in region r, a clause with factors T scores s_T = max_r prod_{k in T} p_rk in a
photo, and a query scores the product of its clauses: the probability that all apply, if they are independent. (The
minimum would ignore the probabilities of the other clauses.) The region of a clause is the argmax, the first of equals.

Since max_r prod_k p_rk <= prod_k max_r p_rk, the stored maxima bound the score of every photo. Photos are taken in
descending order of their bounds, and their regions are read, until no remaining bound reaches the last score of the
list. Products are of levels, in float64 and always in the same order, so rounding does not violate the bound.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tagsight.index.query import Query
from tagsight.index.snapshot import Box, Snapshot
from tagsight.predict.probabilities import LEVELS
from tagsight.types import Array, Floats, Ints

PRESENT = 0.5  # an excluded word must be less probable than this in every region
FIRST = 512  # photos whose regions are read first; fewer would take as long
GROWTH = 8
MOST = 16_384  # most photos that are read together, to limit memory
BLOCK = 512  # photos per product, so that products fit in the processor's cache


class Match(NamedTuple):
    """The best region for one clause of a query."""

    factors: tuple[str, ...]
    score: float
    region: int
    box: Box


class Hit(NamedTuple):
    """A photo that was found."""

    photo: int  # its number, which changes only if the photo does
    path: str  # relative to the collection's root
    size: tuple[int, int]  # (W, H)
    score: float
    matches: tuple[Match, ...]  # one per clause, in the order of the query

    def to_json(self) -> dict[str, Any]:
        """The JSON value that `find --json` prints."""
        return {**self._asdict(), "matches": [match._asdict() for match in self.matches]}


class Ranking(NamedTuple):
    """Photos with their exact scores, and the best region and score of each clause."""

    photos: Array  # (n,) int64
    scores: Array  # (n,) float64
    regions: Array  # (n, T) int64
    parts: Array  # (n, T) float64


def search(snapshot: Snapshot, query: Query, *, top: int | None, threshold: float = 0.0, start: int = 0) -> list[Hit]:
    """The best `top` photos (None: all) that score at least `threshold`, without the first `start` of them.

    Photos with equal scores are in the order of their numbers.
    """
    top = None if top is None else start + top
    places, bounds = bound_photos(snapshot, query)
    photos = snapshot.photos[places]
    pending = bounds >= threshold
    left = np.flatnonzero(pending)
    best = _no_photos(len(query.clauses))
    exact = all(len(clause) == 1 for clause in query.clauses)
    batch = len(left) if top is None else top if exact else max(FIRST, top)
    while len(left):
        now = select_best(bounds, photos, left, min(batch, MOST))
        pending[now] = False
        best = merge_rankings(best, score_photos(snapshot, query, places[now]), top, threshold)
        if len(best.photos) == top:
            score, photo = best.scores[-1], best.photos[-1]
            pending &= (bounds > score) | ((bounds == score) & (photos < photo))
        left = np.flatnonzero(pending)
        batch *= GROWTH
    return make_hits(snapshot, query, Ranking(*(column[start:] for column in best)))


def count_hits(snapshot: Snapshot, query: Query, threshold: float) -> int:
    """The number of photos that score at least `threshold`."""
    key = ("count", query, threshold)
    before = snapshot.get_cached(key)
    if before is not None:
        return before
    places, bounds = bound_photos(snapshot, query)
    left = places[bounds >= threshold]
    count = len(left)
    if threshold > 0 and any(len(clause) > 1 for clause in query.clauses):
        blocks = [left[first : first + MOST] for first in range(0, len(left), MOST)]
        count = sum(int((score_photos(snapshot, query, some).scores >= threshold).sum()) for some in blocks)
    snapshot.cache_result(key, count, 100)
    return count


def bound_photos(snapshot: Snapshot, query: Query) -> tuple[Ints, Floats]:
    """The places of all photos without the excluded words, and upper bounds of their scores."""
    tops = snapshot.read_tops([*(k for clause in query.clauses for k in clause), *query.without])
    bounds = np.ones(len(snapshot.photos))
    for clause in query.clauses:
        bounds *= multiply([tops[k] for k in clause])
    allowed = np.ones(len(bounds), bool)
    for k in query.without:
        allowed &= tops[k] < PRESENT * LEVELS
    places = np.flatnonzero(allowed)
    return places, bounds[places]


def select_best(bounds: Floats, photos: Ints, left: Ints, count: int) -> Ints:
    """The `count` of the photos `left` with the highest bounds; of equal bounds those with the lowest numbers."""
    if count >= len(left):
        return left
    scores = bounds[left]
    cut = np.partition(scores, len(scores) - count)[len(scores) - count]
    above, equal = left[scores > cut], left[scores == cut]
    lowest = np.argsort(photos[equal], kind="stable")
    return np.concatenate([above, equal[lowest][: count - len(above)]])


def score_photos(snapshot: Snapshot, query: Query, places: Ints) -> Ranking:
    """The exact scores of the photos at some places."""
    photos, starts, levels = snapshot.read_levels(sorted({k for clause in query.clauses for k in clause}), places)
    parts = np.empty((len(photos), len(query.clauses)))
    regions = np.empty(parts.shape, np.int64)
    for first in range(0, len(photos), BLOCK):
        bounds = starts[first : first + BLOCK + 1]
        rows = slice(first, first + len(bounds) - 1)
        for t, clause in enumerate(query.clauses):
            product = multiply([levels[k][bounds[0] : bounds[-1]] for k in clause])
            parts[rows, t] = np.maximum.reduceat(product, bounds[:-1] - bounds[0])
            regions[rows, t] = find_maxima(product, parts[rows, t], bounds - bounds[0])
    scores = np.ones(len(photos))
    for t in range(len(query.clauses)):
        scores *= parts[:, t]
    return Ranking(photos, scores, regions, parts)


def find_maxima(values: Array, highest: Array, starts: Ints) -> Ints:
    """(n,) position of the first maximum in each of n segments of `values`, counted from the start of the segment."""
    places = np.flatnonzero(values == np.repeat(highest, np.diff(starts)))
    first = np.searchsorted(places, starts[:-1])
    return places[first] - starts[:-1]


def multiply(levels: Sequence[Array]) -> Floats:
    """The product of probabilities stored as levels."""
    product = levels[0] / np.float64(LEVELS)
    for one in levels[1:]:
        product *= one / np.float64(LEVELS)
    return product


def merge_rankings(one: Ranking, other: Ranking, top: int | None, threshold: float) -> Ranking:
    """The best of two rankings, best first."""
    both = Ranking(*(np.concatenate(pair) for pair in zip(one, other, strict=True)))
    order = np.lexsort((both.photos, -both.scores))
    order = order[both.scores[order] >= threshold][:top]
    return Ranking(*(column[order] for column in both))


def make_hits(snapshot: Snapshot, query: Query, best: Ranking) -> list[Hit]:
    """The photos of a ranking, in its order, with paths and boxes."""
    rows = snapshot.describe_photos(best.photos)
    names = [tuple(snapshot.words.shown[k] for k in clause) for clause in query.clauses]
    hits: list[Hit] = []
    for photo, score, regions, parts in zip(*(column.tolist() for column in best), strict=True):
        row = rows[photo]
        matches = [
            Match(name, part, region, row.get_box(region))
            for name, part, region in zip(names, parts, regions, strict=True)
        ]
        hits.append(Hit(photo, row.path, row.size, score, tuple(matches)))
    return hits


def _no_photos(n_clauses: int) -> Ranking:
    numbers, places = np.empty(0, np.int64), np.empty((0, n_clauses), np.int64)
    return Ranking(numbers, np.empty(0), places, np.empty((0, n_clauses)))
