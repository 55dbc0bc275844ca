"""The parts of a shard that workers fit: cutting a shard, and the files a worker restarts from."""

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.engine.shard_file import save_shard
from tagsight.model.layout import Layout, Shard
from tagsight.model.local_step import add_squares
from tagsight.model.state import Local, Summary
from tagsight.storage.tensor_file import TRAIN_ANEW, load_tensors, save_tensors
from tagsight.types import Array

SHARD, COMMIT = "shard", "commit.safetensors"


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
    save_commit(Commit(0, local, previous or local, None), folder / COMMIT)


class Commit(NamedTuple):
    """State of a worker after `number` operations."""

    number: int
    local: Local
    previous: Local  # that `restore` returns to
    answer: Summary | None  # result of the last operation


def save_commit(commit: Commit, path: Path) -> None:
    """Write the commit atomically."""
    arrays: dict[str, Array] = {"number": np.array(commit.number)}
    for name in ("local", "previous", "answer"):
        record = getattr(commit, name)
        if record is not None and not (name == "previous" and record is commit.local):
            arrays |= {f"{name}.{field}": np.asarray(value) for field, value in record._asdict().items()}
    save_tensors(path, {}, arrays)


def load_commit(path: Path) -> Commit:
    """Load a file written by `save_commit`."""
    _, arrays = load_tensors(path, f"{TRAIN_ANEW}, and every machine must see its folder")
    local = Local(*(arrays[f"local.{field}"] for field in Local._fields))
    previous = answer = None
    if "previous.assign" in arrays:
        previous = Local(*(arrays[f"previous.{field}"] for field in Local._fields))
    if "answer.count" in arrays:
        values = [arrays[f"answer.{field}"] for field in Summary._fields]
        answer = Summary._make(float(value) if value.ndim == 0 else value for value in values)
    return Commit(int(arrays["number"]), local, previous or local, answer)
