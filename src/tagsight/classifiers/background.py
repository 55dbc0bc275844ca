"""Whether the tags of photos name all that is to be seen in them.

Where they do (sky, road, building ...), every region is some tagged object and there is no background. Where they name
things that stand before something, most regions are none of them. The tags tell which: a look that belongs to an
object is seen in photos that share its tag; the look of a background is seen in photos that share none. For a region
of a photo with tags L, with N its nearest regions in other photos and L_m the tags of the photo of region m,

    agreement = max_{o in L} mean_{m in N} [o in L_m],       chance = max_{o in L} share of the photos with o,

and the means over a sample of regions, drawn by area, give

    coverage = (agreement - chance) / (1 - chance),

so that a tag that all photos have, which says nothing of any region, counts for nothing.
"""

import numpy as np

from tagsight.classifiers.rows import Rows, pick_rows
from tagsight.types import Array, Floats

ASKED, AMONG = 1000, 20_000  # regions asked, regions among which neighbours are found
NEIGHBOURS = 20
CHUNK = 100  # regions asked at a time, for memory's sake
ENOUGH = 0.5  # coverage from which there is no background


def has_background(rows: Rows, photo: Array, area: Floats, objects: Array) -> bool:
    """Whether regions with unit vectors (N, d) in photos `photo` (N,) show more than the tags `objects` (I, K_o)."""
    return measure_coverage(rows, photo, area, objects) < ENOUGH


def measure_coverage(rows: Rows, photo: Array, area: Floats, objects: Array) -> float:
    """At most 1; about 0 where looks and tags have nothing to do with each other."""
    tagged = objects.astype(bool)
    rng = np.random.default_rng(0)  # a sample large enough that another one would say the same
    asked = rng.choice(len(area), ASKED, p=area / area.sum())
    among = rng.permutation(len(area))[:AMONG]
    n_near = min(NEIGHBOURS, len(among) - int(np.bincount(photo[among]).max()))
    if n_near < 1:
        return 0.0  # one photo has no neighbours
    of_asked, of_others = pick_rows(rows, asked), pick_rows(rows, among).T
    nearest = np.empty((ASKED, n_near), np.int64)
    for first in range(0, ASKED, CHUNK):
        some = slice(first, first + CHUNK)
        distance = -(of_asked[some] @ of_others)
        distance[photo[asked[some], None] == photo[among]] = np.inf
        nearest[some] = np.argpartition(distance, n_near - 1, axis=1)[:, :n_near]
    own = tagged[photo[asked]]
    agreement = _find_best(tagged[photo[among[nearest]]].mean(axis=1), own)
    chance = _find_best(np.broadcast_to(tagged.mean(axis=0), own.shape), own)
    return (agreement - chance) / max(1.0 - chance, np.finfo(np.float64).tiny)


def _find_best(share: Floats, own: Array) -> float:
    return float(np.where(own, share, 0.0).max(axis=1, initial=0.0).mean())
