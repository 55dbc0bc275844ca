"""Photos that best fit a query, exactly as if every region of every photo had been scored.

With p_rk the probability of factor k in region r, a thing of factors T scores s_T = max_r prod_{k in T} p_rk in a
photo, and several things score the product of theirs: the probability that all are there, were they independent.
(The least of them would ignore how sure the others are.) The region of a thing is the argmax, the first among equals.

Since max_r prod_k p_rk <= prod_k max_r p_rk, the stored maxima bound every photo's score. Photos are taken from the
highest bound down, and their regions read, until no bound that is left reaches the last place of the list.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tagsight.index.query import Query
from tagsight.index.schema import BOX, PROBABILITY, join_binary, name_regions, name_top, to_probabilities
from tagsight.index.snapshot import Snapshot
from tagsight.types import Array, Floats, Ints

PRESENT = 0.5  # an excluded word must be less probable than this in every region
FIRST = 64  # photos whose regions are read at first
GROWTH = 4
Place = tuple[float, int]  # in a ranking: minus the score, then the photo's number
Box = tuple[int, int, int, int]  # x0, y0, x1, y1 in the whole photo; the end is exclusive


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


class Scored(NamedTuple):
    """Photos and their exact scores."""

    photos: Ints  # (n,)
    scores: Floats  # (n,)


def search(snapshot: Snapshot, query: Query, *, top: int | None, threshold: float = 0.0, start: int = 0) -> list[Hit]:
    """The best `top` photos (all, if None) that score at least `threshold`, but for the first `start` of them.

    Equals come in order of their numbers.
    """
    top = None if top is None else start + top
    best = Scored(np.empty(0, np.int64), np.empty(0))
    for photos, following in best_first(bound_photos(snapshot, query), threshold, top):
        best = merge(best, score_photos(snapshot, query, photos), top, threshold)
        full = len(best.photos) == top
        if full and following is not None and (-float(best.scores[-1]), int(best.photos[-1])) < following:
            break
    return locate(snapshot, query, Scored(best.photos[start:], best.scores[start:]))


def bound_photos(snapshot: Snapshot, query: Query) -> Scored:
    """Every photo without the excluded words, and a score it cannot exceed."""
    factors = sorted({k for thing in query.things for k in thing} | set(query.without))
    table = snapshot.read(["photo", *map(name_top, factors)])
    tops = {k: table[name_top(k)].to_numpy() for k in factors}
    bound = np.ones(len(table))
    for thing in query.things:
        bound *= multiply([to_probabilities(tops[k]) for k in thing])
    photos = table["photo"].to_numpy().astype(np.int64)
    for k in query.without:
        allowed = to_probabilities(tops[k]) < PRESENT
        photos, bound, tops = photos[allowed], bound[allowed], {m: top[allowed] for m, top in tops.items()}
    return Scored(photos, bound)


def best_first(bounds: Scored, threshold: float, top: int | None) -> Iterator[tuple[Ints, Place | None]]:
    """Photos by falling bound (equals by number) in growing helpings, each with the place of the one that follows."""
    left = np.flatnonzero(bounds.scores >= threshold)
    helping = len(left) if top is None else max(FIRST, top)
    while len(left):
        now = _take_best(bounds, left, helping)
        left = np.setdiff1d(left, now, assume_unique=True)
        following = _take_best(bounds, left, 1)
        place = (-float(bounds.scores[following[0]]), int(bounds.photos[following[0]])) if len(following) else None
        yield bounds.photos[now], place
        helping *= GROWTH


def _take_best(bounds: Scored, left: Ints, count: int) -> Ints:
    """Those of the photos `left` with the highest bounds, the lowest numbers among equals."""
    if count >= len(left):
        return left
    scores = bounds.scores[left]
    cut = np.partition(scores, len(scores) - count)[len(scores) - count]
    above, equal = left[scores > cut], left[scores == cut]
    lowest = np.argsort(bounds.photos[equal], kind="stable")
    return np.concatenate([above, equal[lowest][: count - len(above)]])


def score_photos(snapshot: Snapshot, query: Query, photos: Ints) -> Scored:
    """Exact scores of some photos."""
    factors = sorted({k for thing in query.things for k in thing})
    table = snapshot.read(["photo", "regions", *map(name_regions, factors)], photos=photos)
    first = _starts(table["regions"].to_numpy())
    levels = {k: to_probabilities(join_binary(table[name_regions(k)], PROBABILITY)) for k in factors}
    scores = np.ones(len(table))
    for thing in query.things:
        scores *= np.maximum.reduceat(multiply([levels[k] for k in thing]), first)
    return Scored(table["photo"].to_numpy().astype(np.int64), scores)


def merge(one: Scored, other: Scored, top: int | None, threshold: float) -> Scored:
    """The best of both, best first."""
    photos = np.concatenate([one.photos, other.photos])
    scores = np.concatenate([one.scores, other.scores])
    order = np.lexsort((photos, -scores))
    order = order[scores[order] >= threshold][:top]
    return Scored(photos[order], scores[order])


def locate(snapshot: Snapshot, query: Query, best: Scored) -> list[Hit]:
    """The photos of a ranking with their paths and regions, in its order."""
    if not len(best.photos):
        return []
    factors = sorted({k for thing in query.things for k in thing})
    columns = ["photo", "path", "width", "height", "boxes", *map(name_regions, factors)]
    rows = {row["photo"]: row for row in snapshot.read(columns, photos=best.photos).to_pylist()}
    return [
        _make_hit(snapshot, query, rows[photo], score)
        for photo, score in zip(best.photos.tolist(), best.scores.tolist(), strict=True)
    ]


def _make_hit(snapshot: Snapshot, query: Query, row: dict[str, Any], score: float) -> Hit:
    boxes = np.frombuffer(row["boxes"], BOX).reshape(-1, 4)
    names = snapshot.words.shown
    matches: list[Match] = []
    for thing in query.things:
        product = multiply([to_probabilities(np.frombuffer(row[name_regions(k)], PROBABILITY)) for k in thing])
        region = int(product.argmax())
        x0, y0, x1, y1 = boxes[region].tolist()
        matches.append(Match(tuple(names[k] for k in thing), float(product[region]), region, (x0, y0, x1, y1)))
    return Hit(row["photo"], row["path"], (row["width"], row["height"]), score, tuple(matches))


def multiply(factors: list[Floats]) -> Floats:
    """Their product, taken in order: rounding is monotone, so a bound stays one."""
    product = factors[0]
    for factor in factors[1:]:
        product = product * factor
    return product


def _starts(sizes: Array) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
