"""Photos like a photo, or with a region like a region.

Two vectors of probabilities a and b are alike by sum_k min(a_k, b_k) / sum_k max(a_k, b_k): 1 if they are equal, 0 if
nothing is on in both; a factor on in one alone counts against, however many others agree. (A cosine would find a
region with faint traces of the same factors as like as one that has them.) A photo's vector is its highest
probability of each factor.

With m a photo's vector, sum min(a, r) <= sum min(a, m) and sum max(a, r) >= sum a for each of its regions r, which
bounds how like they can be. Photos whose bound reaches the last place of the list are read in the order in which they
are stored, the factors with the highest a_k first. After the factors in P,

    (S + sum_{k not in P} a_k) / (sum_k a_k + sum_{k in P} r_k - S),   S = sum_{k in P} min(a_k, r_k),

bounds how like a region is, and photos without a region that reaches the last place are read no further.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tagsight.index.limits import hold_slot
from tagsight.index.search import Hit, Match, first_places, take_best
from tagsight.index.snapshot import COLUMNS, Snapshot
from tagsight.predict.probabilities import LEVELS
from tagsight.types import Array, Floats, Ints


def find_like_photo(snapshot: Snapshot, levels: Array, *, top: int, without: int | None = None) -> list[Hit]:
    """The photos whose vectors are most like `levels` (K,); not `without` itself."""
    likeness = _compare(levels, _list_tops(snapshot, len(levels)), len(snapshot.photos))
    candidates = np.flatnonzero(snapshot.photos != without)
    best = take_best(likeness, snapshot.photos, candidates, top)
    best = best[np.lexsort((snapshot.photos[best], -likeness[best]))]
    rows = snapshot.describe_photos(snapshot.photos[best])
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
    allowed = snapshot.photos != without
    found: list[tuple[float, int, int]] = []  # minus the likeness, photo, region
    with hold_slot(snapshot.scans):
        for places in snapshot.list_blocks():
            least = -found[-1][0] if len(found) == top else 0.0
            wanted = allowed[places] & (bounds[places] >= least)
            found = sorted([*found, *_compare_regions(snapshot, levels, places, wanted, least)])[:top]
    rows = snapshot.describe_photos(np.array([photo for _, photo, _ in found], np.int64))
    shown = _name_strongest(snapshot, levels)
    return [
        Hit(photo, row.path, row.size, -minus, (Match(shown, -minus, region, row.get_box(region)),))
        for minus, photo, region in found
        for row in (rows[photo],)
    ]


def read_photo_levels(snapshot: Snapshot, photo: int) -> tuple[Array, Array]:
    """(R, K) levels and (R, 4) boxes of a photo that is in the index."""
    n_factors = len(snapshot.manifest.factor_names)
    levels = snapshot.read_photo_levels(range(n_factors), photo)
    return levels, snapshot.describe_photos(np.array([photo]))[photo].boxes


def _list_tops(snapshot: Snapshot, n_factors: int) -> Iterator[Array]:
    """The highest levels of each factor, a few factors in memory at a time."""
    for start in range(0, n_factors, COLUMNS):
        yield from snapshot.read_tops(range(start, min(start + COLUMNS, n_factors))).values()


def _compare(levels: Array, columns: Iterable[Array], n: int) -> Floats:
    """(n,) likeness of `levels` (K,) and n vectors given as K columns of levels."""
    least, most = np.zeros(n), np.zeros(n)
    for level, column in zip(levels.tolist(), columns, strict=True):
        least += np.minimum(column, level)
        most += np.maximum(column, level)
    return least / np.maximum(most, 1)


class _Comparison(NamedTuple):
    """The photos of a block that are still compared, and the sums over the factors read so far."""

    photos: Ints  # (n,)
    starts: Ints  # (n + 1,) where each photo's regions begin in the following
    regions: Ints  # (m,) places of the regions in the block
    shared: Ints  # (m,) sum of min(a, r)
    total: Ints  # (m,) sum of r

    def spread(self, photos: Array) -> Array:
        """(m,) of a value for each photo."""
        return np.repeat(photos, np.diff(self.starts))

    def keep(self, photos: Array) -> "_Comparison":
        """Go on with some of the photos, (n,) of bool."""
        inside = self.spread(photos)
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[photos])])
        return _Comparison(self.photos[photos], starts, self.regions[inside], self.shared[inside], self.total[inside])


def _start_comparison(photos: Ints, starts: Ints) -> _Comparison:
    n_regions = int(starts[-1])
    return _Comparison(
        photos, starts, np.arange(n_regions), np.zeros(n_regions, np.int64), np.zeros(n_regions, np.int64)
    )


def _compare_regions(
    snapshot: Snapshot, levels: Array, block: slice, wanted: Array, least: float
) -> list[tuple[float, int, int]]:
    """Minus the likeness, the photo and its most alike region, for the photos of a block as like as `least` or more.

    `wanted` (n,) says which photos of the block to compare.
    """
    if not wanted.any():
        return []
    order = np.argsort(-levels.astype(np.int64), kind="stable").tolist()
    asked = int(levels.sum(dtype=np.int64))
    rest, left, bounds = asked, None, np.zeros(0)
    for first in range(0, len(order), COLUMNS):
        photos, starts, values = snapshot.scan_block(block, order[first : first + COLUMNS])
        left = left or _start_comparison(photos, starts).keep(wanted)
        for k, column in values.items():
            own = column[left.regions] if len(left.regions) < len(column) else column
            np.add(left.shared, np.minimum(own, levels[k]), out=left.shared)
            np.add(left.total, own, out=left.total)
            rest -= int(levels[k])
        # sum max(a, r) = sum a + sum r - sum min(a, r), here with r = 0 for the factors not read yet
        bounds = (left.shared + rest) / np.maximum(left.total + asked - left.shared, 1)
        reach = np.maximum.reduceat(bounds, left.starts[:-1]) >= least
        if not reach.any():
            return []
        if not reach.all():
            bounds, left = bounds[left.spread(reach)], left.keep(reach)
    if left is None:
        return []
    highest = np.maximum.reduceat(bounds, left.starts[:-1])
    regions = first_places(bounds, highest, left.starts)
    return list(zip((-highest).tolist(), left.photos.tolist(), regions.tolist(), strict=True))


def _name_strongest(snapshot: Snapshot, levels: Array) -> tuple[str, ...]:
    """The factors that are more probable than not in the vector asked for."""
    strong = [int(k) for k in np.argsort(-levels.astype(np.int64), kind="stable") if levels[k] > LEVELS / 2]
    return tuple(snapshot.words.shown[k] for k in strong)
