"""A shard cut into runs of photos, and the local posteriors of the runs put together again."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tagsight.model.layout import Layout, Shard, sum_squares
from tagsight.model.state import Local


def cut_shard(shard: Shard, local: Local, n_parts: int) -> list[tuple[Shard, Local]]:
    """About equally many photos in each part; rows still count in all the features."""
    ends = np.linspace(0, shard.layout.n_photos, n_parts + 1).astype(int)
    return [_cut(shard, local, first, last) for first, last in pairwise(ends)]


def join_locals(parts: Sequence[Local]) -> Local:
    """The local posterior of all photos, from those of consecutive runs."""
    return Local._make(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def _cut(shard: Shard, local: Local, first: int, last: int) -> tuple[Shard, Local]:
    layout = _cut_layout(shard.layout, first, last)
    entries = slice(shard.layout.assign_start[first], shard.layout.assign_start[last])
    mine = Local(local.assign[entries], local.sticks[first:last], local.order[first:last])
    return Shard(shard.features, layout, sum_squares(shard.features, layout.rows)), mine


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
