"""The parts of a shard that workers fit: cutting a shard, and the files a worker restarts from."""

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.engine.local.posterior_file import FORMAT
from tagsight.engine.local.shard_file import save_shard
from tagsight.model.layout import Layout, Shard
from tagsight.model.local_step import add_squares
from tagsight.model.state import Local, SummaryStatistics
from tagsight.storage.records import load_record, save_record

SHARD, COMMIT = "shard", "commit.safetensors"
COMMIT_FORMAT = FORMAT._replace(remedy=f"{FORMAT.remedy}, and every machine must see its folder")


def cut_shard(shard: Shard, n_parts: int) -> list[Shard]:
    """Cut a shard into parts of about equally many photos; all parts share its features."""
    noise = "full" if np.ndim(shard.square) else "isotropic"
    layouts = [_cut_layout(shard.layout, first, last) for first, last in _ranges(shard.layout, n_parts)]
    return [Shard(shard.features, layout, add_squares(shard.features, layout, noise=noise)) for layout in layouts]


def cut_local(local: Local, layout: Layout, n_parts: int) -> list[Local]:
    """Cut the local posterior of a shard into those of its `n_parts` parts."""
    start = layout.assign_start
    return [
        Local(local.assign[start[first] : start[last]], local.sticks[first:last], local.order[first:last])
        for first, last in _ranges(layout, n_parts)
    ]


def _ranges(layout: Layout, n_parts: int) -> list[tuple[int, int]]:
    """Return the first photo of each part and the photo after its last."""
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


def prepare_worker(folder: Path, shard: Shard, local: Local, previous: Local | None = None) -> None:
    """Write the files from which a worker starts."""
    save_shard(shard, folder / SHARD)
    save_commit(Commit(0, local, previous, None), folder / COMMIT)


class Commit(NamedTuple):
    """State of a worker after `number` operations."""

    number: int
    local: Local
    previous: Local | None  # that `restore` returns to; None: `local`
    answer: SummaryStatistics | None  # result of the last operation


def save_commit(commit: Commit, path: Path) -> None:
    """Write the commit atomically; `previous` is not written twice where it is `local`."""
    previous = None if commit.previous is commit.local else commit.previous
    save_record(commit._replace(previous=previous), path, COMMIT_FORMAT)


def load_commit(path: Path) -> Commit:
    """Load a file written by `save_commit`."""
    return load_record(Commit, path, COMMIT_FORMAT)
