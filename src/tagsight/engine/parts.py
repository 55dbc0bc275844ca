"""A shard cut into runs of photos, with their local posteriors."""

from itertools import pairwise

import numpy as np

from tagsight.model.layout import Layout, Shard
from tagsight.model.local_step import add_squares
from tagsight.model.state import Local


def cut_shard(shard: Shard, n_parts: int) -> list[Shard]:
    """About equally many photos in each part; rows still count in all the features."""
    noise = "full" if np.ndim(shard.square) else "isotropic"
    layouts = [_cut_layout(shard.layout, first, last) for first, last in _runs(shard.layout, n_parts)]
    return [Shard(shard.features, layout, add_squares(shard.features, layout, noise=noise)) for layout in layouts]


def cut_local(local: Local, layout: Layout, n_parts: int) -> list[Local]:
    """The local posteriors of the parts."""
    start = layout.assign_start
    return [
        Local(local.assign[start[first] : start[last]], local.sticks[first:last], local.order[first:last])
        for first, last in _runs(layout, n_parts)
    ]


def _runs(layout: Layout, n_parts: int) -> list[tuple[int, int]]:
    return list(pairwise(np.linspace(0, layout.n_photos, n_parts + 1).astype(int).tolist()))


def _cut_layout(whole: Layout, first: int, last: int) -> Layout:
    photos = slice(first, last + 1)
    s0, s1 = whole.slot_start[[first, last]]
    c0, c1 = whole.colour_start[[first, last]]
    e0, e1 = whole.neighbour_start[[s0, s1]]
    f0, f1 = whole.factor_start[[first, last]]
    return Layout(
        rows=whole.rows[s0:s1],
        slot_start=whole.slot_start[photos] - s0,
        colour_start=whole.colour_start[photos] - c0,
        class_start=whole.class_start[c0 : c1 + 1] - s0,
        neighbour_start=whole.neighbour_start[s0 : s1 + 1] - e0,
        neighbour=whole.neighbour[e0:e1],
        weight=whole.weight[e0:e1],
        factor_start=whole.factor_start[photos] - f0,
        factor=whole.factor[f0:f1],
        assign_start=whole.assign_start[photos] - whole.assign_start[first],
    )
