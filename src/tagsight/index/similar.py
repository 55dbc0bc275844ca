"""Photos like a photo, or with a region like a region.

Two vectors of probabilities a and b are alike by sum_k min(a_k, b_k) / sum_k max(a_k, b_k): 1 if they are equal, 0 if
nothing is on in both; a factor on in one alone counts against, however many others agree. (A cosine would find a
region with faint traces of the same factors as like as one that has them.) A photo's vector is its highest
probability of each factor.

With m a photo's vector, sum min(a, r) <= sum min(a, m) and sum max(a, r) >= sum a for each of its regions r, which
bounds how like they can be; regions are read from the highest bound down, as in `search`.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from tagsight.index.schema import COORDINATE, LEVELS
from tagsight.index.search import Hit, Match, describe_photos, first_places, take_best
from tagsight.index.snapshot import Snapshot
from tagsight.types import Array, Floats, Ints

HELPING = 512  # photos whose regions are read together
FACTORS = 8  # whose highest levels are read together


def find_like_photo(snapshot: Snapshot, levels: Array, *, top: int, without: int | None = None) -> list[Hit]:
    """The photos whose vectors are most like `levels` (K,); not `without` itself."""
    likeness = _compare(levels, _list_tops(snapshot, len(levels)), len(snapshot.photos))
    candidates = np.flatnonzero(snapshot.photos != without)
    best = take_best(likeness, snapshot.photos, candidates, top)
    best = best[np.lexsort((snapshot.photos[best], -likeness[best]))]
    rows = describe_photos(snapshot, snapshot.photos[best])
    return [
        Hit(photo, rows[photo].path, rows[photo].size, float(likeness[i]), ())
        for i, photo in zip(best, snapshot.photos[best].tolist(), strict=True)
    ]


def find_like_region(snapshot: Snapshot, levels: Array, *, top: int, without: int | None = None) -> list[Hit]:
    """The photos that have a region most like `levels` (K,), each with its most alike region; not `without`."""
    shared = np.zeros(len(snapshot.photos))
    for level, top_levels in zip(levels.tolist(), _list_tops(snapshot, len(levels)), strict=True):
        shared += np.minimum(top_levels, level)
    bounds = shared / max(1, int(levels.sum(dtype=np.int64)))
    waiting = snapshot.photos != without
    found: list[tuple[float, int, int]] = []  # minus the likeness, photo, region
    while len(left := np.flatnonzero(waiting)):
        now = take_best(bounds, snapshot.photos, left, max(HELPING, top))
        waiting[now] = False
        found = sorted([*found, *_compare_regions(snapshot, levels, snapshot.photos[now])])[:top]
        if len(found) == top:
            last, photo, _ = found[-1]
            waiting &= (bounds > -last) | ((bounds == -last) & (snapshot.photos < photo))
    rows = describe_photos(snapshot, np.array([photo for _, photo, _ in found], np.int64))
    shown = _name_strongest(snapshot, levels)
    return [
        Hit(photo, row.path, row.size, -minus, (Match(shown, -minus, region, row.box(region)),))
        for minus, photo, region in found
        for row in (rows[photo],)
    ]


def read_photo_levels(snapshot: Snapshot, photo: int) -> tuple[Array, Array]:
    """(R, K) levels and (R, 4) boxes of a photo that is in the index."""
    n_factors = len(snapshot.manifest.factor_names)
    wanted = np.array([photo])
    levels = np.stack(list(snapshot.read_levels_of(range(n_factors), wanted).values.values()), axis=1)
    ((boxes,),) = snapshot.read_photos(["boxes"], wanted)
    return levels, np.frombuffer(boxes, COORDINATE).reshape(-1, 4)


def _list_tops(snapshot: Snapshot, n_factors: int) -> Iterator[Array]:
    """The highest levels of each factor, a few factors in memory at a time."""
    for start in range(0, n_factors, FACTORS):
        yield from snapshot.read_tops(range(start, min(start + FACTORS, n_factors))).values()


def _compare(levels: Array, columns: Iterable[Array], n: int) -> Floats:
    """(n,) likeness of `levels` (K,) and n vectors given as K columns of levels."""
    least, most = np.zeros(n), np.zeros(n)
    for level, column in zip(levels.tolist(), columns, strict=True):
        least += np.minimum(column, level)
        most += np.maximum(column, level)
    return least / np.maximum(most, 1)


def _compare_regions(snapshot: Snapshot, levels: Array, photos: Ints) -> list[tuple[float, int, int]]:
    numbers, starts, values = snapshot.read_levels_of(range(len(levels)), photos)
    likeness = _compare(levels, values.values(), int(starts[-1]))
    highest = np.maximum.reduceat(likeness, starts[:-1])
    regions = first_places(likeness, highest, starts)
    return list(zip((-highest).tolist(), numbers.tolist(), regions.tolist(), strict=True))


def _name_strongest(snapshot: Snapshot, levels: Array) -> tuple[str, ...]:
    """The factors that are more probable than not in the vector asked for."""
    strong = [k for k in np.argsort(-levels.astype(np.int64), kind="stable") if levels[k] > LEVELS / 2]
    return tuple(snapshot.words.shown[k] for k in strong)
