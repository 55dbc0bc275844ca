"""Photos that are similar to a photo, or have a region similar to a region.

The similarity of two vectors of probabilities a and b is sum_k min(a_k, b_k) / sum_k max(a_k, b_k) (weighted Jaccard):
1 if they are equal, 0 if no factor is on in both. A factor that is on in only one reduces it. (The cosine would not
distinguish a region with low probabilities of the same factors from one with high probabilities.) The vector of a photo
is its highest probability of each factor.

With m the vector of a photo, sum min(a, r) <= sum min(a, m) and sum max(a, r) >= sum a for each of its regions r, which
bounds their similarity. Photos whose bound reaches the last score of the list are read in the order in which they are
stored, the factors with the highest a_k first. After the factors in P,

    (S + sum_{k not in P} a_k) / (sum_k a_k + sum_{k in P} r_k - S),   S = sum_{k in P} min(a_k, r_k),

bounds the similarity of a region, and photos without a region that reaches the last score are read no further.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tagsight.index.limits import hold_slot
from tagsight.index.search import Hit, Match, find_maxima, select_best
from tagsight.index.snapshot import COLUMNS, Snapshot
from tagsight.predict.probabilities import LEVELS
from tagsight.types import Array, Floats, Ints


def find_similar_photos(snapshot: Snapshot, levels: Array, *, top: int, without: int | None = None) -> list[Hit]:
    """The photos whose vectors are most similar to `levels` (K,), except `without`."""
    similarity = _compare(levels, _list_tops(snapshot, len(levels)), len(snapshot.photos))
    candidates = np.flatnonzero(snapshot.photos != without)
    best = select_best(similarity, snapshot.photos, candidates, top)
    best = best[np.lexsort((snapshot.photos[best], -similarity[best]))]
    rows = snapshot.describe_photos(snapshot.photos[best])
    return [
        Hit(photo, rows[photo].path, rows[photo].size, float(similarity[i]), ())
        for i, photo in zip(best, snapshot.photos[best].tolist(), strict=True)
    ]


def find_similar_regions(snapshot: Snapshot, levels: Array, *, top: int, without: int | None = None) -> list[Hit]:
    """The photos with a region most similar to `levels` (K,), each with that region; except `without`."""
    shared = np.zeros(len(snapshot.photos))
    for level, top_levels in zip(levels.tolist(), _list_tops(snapshot, len(levels)), strict=True):
        shared += np.minimum(top_levels, level)
    bounds = shared / max(1, int(levels.sum(dtype=np.int64)))
    allowed = snapshot.photos != without
    found: list[tuple[float, int, int]] = []  # minus the similarity, photo, region
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
    """(n,) similarity of `levels` (K,) and n vectors, given as K columns of levels."""
    least, most = np.zeros(n), np.zeros(n)
    for level, column in zip(levels.tolist(), columns, strict=True):
        least += np.minimum(column, level)
        most += np.maximum(column, level)
    return least / np.maximum(most, 1)


class _Comparison(NamedTuple):
    """The photos of a block that are still compared, and sums over the factors read so far."""

    photos: Ints  # (n,)
    starts: Ints  # (n + 1,) where the regions of each photo begin in the next three arrays
    regions: Ints  # (m,) places of the regions in the block
    shared: Ints  # (m,) sum of min(a, r)
    total: Ints  # (m,) sum of r

    def repeat_by_region(self, photos: Array) -> Array:
        """(m,) the value of its photo for each region."""
        return np.repeat(photos, np.diff(self.starts))

    def keep(self, photos: Array) -> "_Comparison":
        """The comparison of some of the photos only, given as (n,) bool."""
        inside = self.repeat_by_region(photos)
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
    """(-similarity, photo, most similar region) of the photos of a block with a similarity of at least `least`.

    Only the photos where `wanted` (n,) is true are compared.
    """
    if not wanted.any():
        return []
    order = np.argsort(-levels.astype(np.int64), kind="stable").tolist()
    total = int(levels.sum(dtype=np.int64))
    rest, left, bounds = total, None, np.zeros(0)
    for first in range(0, len(order), COLUMNS):
        photos, starts, values = snapshot.scan_block(block, order[first : first + COLUMNS])
        left = left or _start_comparison(photos, starts).keep(wanted)
        for k, column in values.items():
            own = column[left.regions] if len(left.regions) < len(column) else column
            np.add(left.shared, np.minimum(own, levels[k]), out=left.shared)
            np.add(left.total, own, out=left.total)
            rest -= int(levels[k])
        # sum max(a, r) = sum a + sum r - sum min(a, r), here with r = 0 for the factors not read yet
        bounds = (left.shared + rest) / np.maximum(left.total + total - left.shared, 1)
        reached = np.maximum.reduceat(bounds, left.starts[:-1]) >= least
        if not reached.any():
            return []
        if not reached.all():
            bounds, left = bounds[left.repeat_by_region(reached)], left.keep(reached)
    if left is None:
        return []
    highest = np.maximum.reduceat(bounds, left.starts[:-1])
    regions = find_maxima(bounds, highest, left.starts)
    return list(zip((-highest).tolist(), left.photos.tolist(), regions.tolist(), strict=True))


def _name_strongest(snapshot: Snapshot, levels: Array) -> tuple[str, ...]:
    """The names of the factors with a probability above 1/2 in `levels`."""
    strong = [int(k) for k in np.argsort(-levels.astype(np.int64), kind="stable") if levels[k] > LEVELS / 2]
    return tuple(snapshot.words.shown[k] for k in strong)
