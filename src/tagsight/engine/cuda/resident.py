"""Data on the GPU: features in the order of slots, the layout, and the local posterior by place.

A photo's sticks are stored in its own order: `column[p]` is the factor at place p.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from scipy.special import gammaln
from torch import Tensor

from tagsight.model.layout import Layout, Shard
from tagsight.model.settings import StickPlan
from tagsight.model.state import Local
from tagsight.types import Array, Floats, Ints

# Slots summed in single precision, before the sums are added in double precision. Shorter blocks are more exact and
# slower. With 256 the float32 results follow those of the CPU for more than a hundred sweeps; with 512 the stick order
# of some photos soon differs (benchmarks/gpu.py).
BLOCKS = {torch.float32: 256, torch.bfloat16: 4096}
CHUNK = 2**20  # approximate number of slots processed at a time
UPLOAD = 2**16  # rows


class Photos(NamedTuple):
    """A shard without its local posterior; the integers are those of `model.layout.Layout`."""

    features: Tensor  # (N + block, D) by slot, float32 or bfloat16; the last ones are 0
    slot_start: Tensor  # (I + 1,) int64, as all starts
    colour_start: Tensor
    class_start: Tensor
    neighbour_start: Tensor
    neighbour: Tensor  # int32
    weight: Tensor  # float32
    factor_start: Tensor
    factor: Tensor  # int32
    assign_start: Tensor
    stick_start: Tensor  # (I + 1,)
    sequence: Tensor  # (K,) int32, stick sequence of each column
    exclusive: Tensor  # (K,) int32, 1 for factors of which at most one is on in a region
    square: float | Floats  # as in `model.state.SummaryStatistics`, of the features in their type on the GPU
    most_sticks: int  # largest number of sticks of a photo
    n_sticks: Floats  # (S,)
    log_orders: float  # sum over sequences of log T!, the number of their orders
    chunks: tuple["Chunk", ...]

    @property
    def block(self) -> int:
        """Slots summed in single precision."""
        return BLOCKS[self.features.dtype]


class Chunk(NamedTuple):
    """Consecutive photos that are processed together."""

    first_photo: int
    n_photos: int
    first_slot: int
    n_slots: int
    n_columns: int  # slots, rounded up to a multiple of the block


class Posterior(NamedTuple):
    """The local posterior, see `model.state.Local`."""

    assign: Tensor  # flat, float32
    column: Tensor  # int32, by place
    tau_1: Tensor  # float64, by place
    tau_2: Tensor

    def copy(self) -> "Posterior":
        """Return a copy."""
        return Posterior._make(tensor.clone() for tensor in self)


def upload_photos(shard: Shard, plan: StickPlan, device: torch.device, dtype: torch.dtype) -> Photos:
    """Copy the data of the shard that sweeps do not change to the device."""
    X, layout, _ = shard
    features = _upload_features(X, layout.rows, device, dtype)
    held = held_columns(layout, plan)
    by_sequence = np.stack([held[:, plan.sequence == s].sum(axis=1) for s in range(plan.n_sequences)], axis=1)
    n_sticks = by_sequence.sum(axis=1)

    def put(values: Array, kind: torch.dtype = torch.int64) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(device, kind)

    return Photos(
        features=features,
        slot_start=put(layout.slot_start),
        colour_start=put(layout.colour_start),
        class_start=put(layout.class_start),
        neighbour_start=put(layout.neighbour_start),
        neighbour=put(layout.neighbour, torch.int32),
        weight=put(layout.weight, torch.float32),
        factor_start=put(layout.factor_start),
        factor=put(layout.factor, torch.int32),
        assign_start=put(layout.assign_start),
        stick_start=put(np.concatenate([[0], np.cumsum(n_sticks)])),
        sequence=put(plan.sequence, torch.int32),
        exclusive=put(plan.exclusive, torch.int32),
        square=sum_squares(features, full=bool(np.ndim(shard.square))),
        most_sticks=int(n_sticks.max(initial=0)),
        n_sticks=by_sequence.sum(axis=0).astype(np.float64),
        log_orders=float(gammaln(by_sequence + 1.0).sum()),
        chunks=cut_chunks(layout.slot_start, BLOCKS[dtype]),
    )


def upload_posterior(local: Local, layout: Layout, plan: StickPlan, device: torch.device) -> Posterior:
    """Copy a local posterior to the device, by place."""
    held = np.take_along_axis(held_columns(layout, plan), local.order, axis=1)
    column = local.order[held]
    tau = local.sticks[np.nonzero(held)[0], column]
    return Posterior(
        torch.from_numpy(local.assign).to(device, torch.float32, copy=True),
        torch.from_numpy(column).to(device, torch.int32),
        torch.from_numpy(tau[:, 0].copy()).to(device),
        torch.from_numpy(tau[:, 1].copy()).to(device),
    )


def download_posterior(posterior: Posterior, like: Local, layout: Layout, plan: StickPlan) -> Local:
    """Return the local posterior in this process's memory; factors without a stick are as in `like`."""
    held = np.take_along_axis(held_columns(layout, plan), like.order, axis=1)
    column = posterior.column.cpu().numpy().astype(np.int64)
    order, sticks = like.order.copy(), like.sticks.copy()
    order[held] = column
    photo = np.nonzero(held)[0]
    sticks[photo, column, 0] = posterior.tau_1.cpu().numpy()
    sticks[photo, column, 1] = posterior.tau_2.cpu().numpy()
    return Local(posterior.assign.cpu().numpy().astype(like.assign.dtype), sticks, order)


def held_columns(layout: Layout, plan: StickPlan) -> Array:
    """Return (I, K) bool: the factors that have a stick in each photo."""
    held = np.full((layout.n_photos, len(plan.order)), plan.spans_all)
    held[np.repeat(np.arange(layout.n_photos), np.diff(layout.factor_start)), layout.factor] = True
    return held


def cut_chunks(slot_start: Ints, block: int) -> tuple[Chunk, ...]:
    """Divide the photos into chunks of about CHUNK slots; the division depends on the photos only."""
    targets = np.arange(CHUNK, int(slot_start[-1]), CHUNK)
    ends = np.unique(np.concatenate([[0], np.searchsorted(slot_start, targets), [len(slot_start) - 1]]))
    chunks: list[Chunk] = []
    for first, last in pairwise(ends):
        n_slots = int(slot_start[last] - slot_start[first])
        n_columns = -(-n_slots // block) * block
        chunks.append(Chunk(int(first), int(last - first), int(slot_start[first]), n_slots, n_columns))
    return tuple(chunks)


def sum_squares(features: Tensor, *, full: bool = False) -> float | Floats:
    """Return sum |x_j|^2, or sum x_j x_j^T (D, D) if `full`."""
    if full:
        total = torch.zeros(features.shape[1], features.shape[1], dtype=torch.float64, device=features.device)
        for part in features.split(UPLOAD):
            total.addmm_(part.double().T, part.double())
        return total.cpu().numpy()
    parts = [torch.linalg.vector_norm(part, dtype=torch.float64) ** 2 for part in features.split(CHUNK)]
    return float(torch.stack(parts).sum())


def _upload_features(X: Array, rows: Ints, device: torch.device, dtype: torch.dtype) -> Tensor:
    features = torch.zeros((len(rows) + BLOCKS[dtype], X.shape[1]), dtype=dtype, device=device)
    for first in range(0, len(rows), UPLOAD):
        some = rows[first : first + UPLOAD]
        features[first : first + len(some)] = torch.from_numpy(X[some]).to(device, dtype)
    return features
