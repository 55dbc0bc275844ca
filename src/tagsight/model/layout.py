"""Layout of the regions and allowed factors of many photos in flat arrays, for the compiled kernels."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tagsight.model.settings import StickPlan
from tagsight.runtime.kernels import kernel
from tagsight.types import Array, Floats, Ints


class Layout(NamedTuple):
    """Flat layout of photos.

    A slot is the place of a region in this layout: regions are sorted by photo, then by colour, and neighbours differ
    in colour. A row is the place of a region among the features.
    """

    rows: Ints  # (N,) row of the features for each slot
    slot_start: Ints  # (I + 1,)
    colour_start: Ints  # (I + 1,) first colour class of each photo
    class_start: Ints  # (classes + 1,) first slot of each colour class
    neighbour_start: Ints  # (N + 1,)
    neighbour: Ints  # (2E,) slot within the photo
    weight: Floats  # (2E,)
    factor_start: Ints  # (I + 1,)
    factor: Ints  # allowed columns of each photo, in the order of a sweep
    assign_start: Ints  # (I + 1,) start of each photo's (K_i, N_i) block of nu

    @property
    def n_photos(self) -> int:
        """I."""
        return len(self.slot_start) - 1


class Shard(NamedTuple):
    """Some photos: their features and layout."""

    features: Array  # (N, D); may include rows of other photos
    layout: Layout
    square: float | Floats = 0.0  # sum of squares, see `state.SummaryStatistics`; needed by summaries only


class Edges(NamedTuple):
    """Pairs of neighbouring regions, each once."""

    pairs: Ints  # (E, 2)
    weight: Floats  # (E,)


def lay_out(groups: Ints, allowed: Array, edges: Edges, plan: StickPlan) -> Layout:
    """Return the layout of regions in photos `groups` (N,), whose allowed factors are the rows of `allowed` (I, K)."""
    n_regions, n_photos = len(groups), len(allowed)
    start, neighbour, weight = _compress(edges, n_regions)
    colour = _colour_regions(start, neighbour)
    rows = np.lexsort((colour, groups))
    slot = np.empty(n_regions, np.int64)
    slot[rows] = np.arange(n_regions)

    slot_start = np.searchsorted(groups[rows], np.arange(n_photos + 1))
    change = np.flatnonzero(np.diff(groups[rows]) | np.diff(colour[rows])) + 1
    class_start = np.concatenate([[0], change, [n_regions]]) if n_regions else np.zeros(1, np.int64)

    degree = np.diff(start)[rows]
    neighbour_start = np.concatenate([[0], np.cumsum(degree)])
    pick = np.repeat(start[:-1][rows] - neighbour_start[:-1], degree) + np.arange(len(neighbour))
    within = slot[neighbour[pick]] - np.repeat(slot_start[groups[rows]], degree)

    ordered = allowed[:, plan.order].astype(bool)
    photo, position = np.nonzero(ordered)
    n_allowed = ordered.sum(axis=1)
    return Layout(
        rows=rows,
        slot_start=slot_start,
        colour_start=np.searchsorted(class_start[:-1], slot_start),
        class_start=class_start,
        neighbour_start=neighbour_start,
        neighbour=within,
        weight=weight[pick],
        factor_start=np.searchsorted(photo, np.arange(n_photos + 1)),
        factor=plan.order[position],
        assign_start=np.concatenate([[0], np.cumsum(n_allowed * np.diff(slot_start))]),
    )


def lay_out_parts(groups: Ints, allowed: Array, edges: Edges, plan: StickPlan, n_parts: int) -> list[Layout]:
    """Return the layouts of `n_parts` ranges of about equally many photos; their rows index the same features."""
    ends = np.linspace(0, len(allowed), n_parts + 1).astype(int)
    edge_photo = groups[edges.pairs[:, 0]]
    layouts: list[Layout] = []
    for first, last in pairwise(ends):
        rows = np.flatnonzero((groups >= first) & (groups < last))
        mine = (edge_photo >= first) & (edge_photo < last)
        pairs = np.searchsorted(rows, edges.pairs[mine])
        part = lay_out(groups[rows] - first, allowed[first:last], Edges(pairs, edges.weight[mine]), plan)
        layouts.append(part._replace(rows=rows[part.rows]))
    return layouts


@kernel()
def scatter_assign(layout: Layout, assign: Array, target: Ints, dense: Array) -> None:
    """Write flat `assign` to `dense` (n, K): row r of the features goes to row target[r]; -1 skips it."""
    for i in range(len(layout.slot_start) - 1):
        s0, s1 = layout.slot_start[i], layout.slot_start[i + 1]
        factor = layout.factor[layout.factor_start[i] : layout.factor_start[i + 1]]
        block = assign[layout.assign_start[i] : layout.assign_start[i + 1]].reshape(len(factor), s1 - s0)
        for j in range(s1 - s0):
            row = target[layout.rows[s0 + j]]
            if row >= 0:
                for k in range(len(factor)):
                    dense[row, factor[k]] = block[k, j]


@kernel(fastmath={"reassoc", "contract"})
def sum_squares(X: Array, rows: Ints) -> float:
    """Return sum |x_j|^2 over the given rows."""
    total = 0.0
    for r in rows:
        for value in X[r]:
            total += np.float64(value) * np.float64(value)
    return total


def clear_columns(layout: Layout, assign: Array, first: int) -> Array:
    """Return a copy of flat `assign` with factors `first` and above set to 0."""
    n_regions = np.diff(layout.slot_start)
    photo = np.repeat(np.arange(layout.n_photos), np.diff(layout.factor_start))
    kept = layout.factor < first
    return np.where(np.repeat(kept, n_regions[photo]), assign, assign.dtype.type(0))


def _compress(edges: Edges, n_regions: int) -> tuple[Ints, Ints, Floats]:
    """Return both directions of every edge in compressed sparse row form: start (N + 1,), neighbour, weight."""
    source = np.concatenate([edges.pairs[:, 0], edges.pairs[:, 1]])
    target = np.concatenate([edges.pairs[:, 1], edges.pairs[:, 0]])
    order = np.lexsort((target, source))
    start = np.searchsorted(source[order], np.arange(n_regions + 1))
    return start, target[order], np.concatenate([edges.weight, edges.weight])[order]


@kernel()
def _colour_regions(start: Ints, neighbour: Ints) -> Ints:
    """Return a greedy colouring: each region takes the smallest colour that no earlier neighbour has."""
    n_regions = len(start) - 1
    colour = np.zeros(n_regions, np.int64)
    for j in range(n_regions):
        taken = np.zeros(start[j + 1] - start[j] + 1, np.bool_)
        for m in neighbour[start[j] : start[j + 1]]:
            if m < j and colour[m] < len(taken):
                taken[colour[m]] = True
        colour[j] = np.argmin(taken)
    return colour
