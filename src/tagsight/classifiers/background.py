"""Whether a collection has a background class: regions that show no tagged object.

In some collections the tags cover everything in a photo (sky, road, building ...), and there is no background. In
others they cover the foreground only, and most regions show none of them. The nearest neighbours of a region
distinguish the two cases: those of an object are in photos with the same tag, those of background in photos without a
common tag. For a region of a photo with tags L, with N its nearest regions in other photos and L_m the tags of the
photo of m,

    agreement = max_{o in L} mean_{m in N} [o in L_m],       chance = max_{o in L} share of the photos with o,

and with both averaged over a sample of regions drawn in proportion to area,

    coverage = (agreement - chance) / (1 - chance).

There is a background class if the coverage is below MIN_COVERAGE. A tag that all photos have is left out.
"""

import numpy as np

from tagsight.classifiers.rows import BlockedRows, take_rows
from tagsight.types import Array, Floats

N_QUERIES, N_CANDIDATES = 1000, 20_000  # sampled regions, and regions among which their neighbours are searched
N_NEIGHBOURS = 20
CHUNK = 100  # queries per distance matrix, to bound memory
MIN_COVERAGE = 0.5  # coverage from which there is no background class


def has_background_class(rows: BlockedRows, photo: Array, area: Floats, objects: Array) -> bool:
    """Whether there is a background class, for embeddings (N, d) in photos `photo` (N,) with tags (I, K_o)."""
    return compute_coverage(rows, photo, area, objects) < MIN_COVERAGE


def compute_coverage(rows: BlockedRows, photo: Array, area: Floats, objects: Array) -> float:
    """The coverage, at most 1; near 0 if the vectors of regions are independent of the tags."""
    tagged = objects.astype(bool)
    rng = np.random.default_rng(0)  # fixed: the sample is large enough for the result not to depend on it
    queries = rng.choice(len(area), N_QUERIES, p=area / area.sum())
    candidates = rng.permutation(len(area))[:N_CANDIDATES]
    n_neighbours = min(N_NEIGHBOURS, len(candidates) - int(np.bincount(photo[candidates]).max()))
    if n_neighbours < 1:
        return 0.0  # all candidates are in one photo
    query_vectors, candidate_vectors = take_rows(rows, queries), take_rows(rows, candidates).T
    nearest = np.empty((N_QUERIES, n_neighbours), np.int64)
    for first in range(0, N_QUERIES, CHUNK):
        chunk = slice(first, first + CHUNK)
        distance = -(query_vectors[chunk] @ candidate_vectors)
        distance[photo[queries[chunk], None] == photo[candidates]] = np.inf
        nearest[chunk] = np.argpartition(distance, n_neighbours - 1, axis=1)[:, :n_neighbours]
    own = tagged[photo[queries]]
    agreement = _average_best(tagged[photo[candidates[nearest]]].mean(axis=1), own)
    chance = _average_best(np.broadcast_to(tagged.mean(axis=0), own.shape), own)
    return (agreement - chance) / max(1.0 - chance, np.finfo(np.float64).tiny)


def _average_best(frequency: Floats, own: Array) -> float:
    """Mean over regions of the largest `frequency` (n, K_o) among the tags `own` (n, K_o) of the region's photo."""
    return float(np.where(own, frequency, 0.0).max(axis=1, initial=0.0).mean())
