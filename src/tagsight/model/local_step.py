"""The local step: given the globals, update nu and tau of every photo of a shard and summarise them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tagsight.model.layout import Layout, Shard, sum_squares
from tagsight.model.noise import weight_by_shape
from tagsight.model.photo_step import Potentials, SweepOptions, update_photos
from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.state import Globals, Local, SummaryStatistics, accumulate, empty_summary
from tagsight.runtime.blas import one_blas_thread
from tagsight.types import Array, Floats

BLOCK = 64  # photos; fixed, so that sums do not depend on how many threads run the blocks

Map = Callable[[Callable[[range], SummaryStatistics], Iterable[range]], Iterator[SummaryStatistics]]


def local_step(
    shard: Shard,
    local: Local,
    state: Globals,
    settings: Settings,
    options: SweepOptions,
    run: Map = map,
    log_odds: Array | None = None,
    onto: SummaryStatistics | None = None,
) -> tuple[Local, SummaryStatistics]:
    """Return the updated posterior of the shard's photos and their summary; `local` is not changed.

    `run` maps a function over blocks of photos and yields the results in order. `log_odds`, with the layout of
    `local.assign`, is filled with the logits of nu, which distinguish values of nu that round to 1. The summary is
    added to the arrays of `onto` block by block, so that the sum does not depend on the division of blocks into shards.
    """
    X, layout, square = shard
    plan = plan_sticks(settings)
    K, D = state.appearance.mean.shape
    new = Local(local.assign.copy(), local.sticks.copy(), local.order.copy())
    potentials = _compute_potentials(state, settings, X.dtype)
    new_log_odds = np.empty(0, X.dtype) if log_odds is None else log_odds

    def update_block(photos: range) -> SummaryStatistics:
        total = empty_summary(K, D if options.summarise else 0, plan.n_sequences)
        scalars = update_photos(
            photos.start, photos.stop, X, layout, new, potentials, plan, options, total, new_log_odds
        )
        n_regions = float(layout.slot_start[photos.stop] - layout.slot_start[photos.start])
        return total._replace(n_regions=n_regions, **scalars._asdict())

    total = onto or empty_summary(K, D if options.summarise else 0, plan.n_sequences)
    total = total._replace(square=total.square + square)
    for part in run(update_block, photo_blocks(layout)):
        total = accumulate(total, part)
    return new, total


def photo_blocks(layout: Layout) -> list[range]:
    """Return the ranges of up to BLOCK photos that the photos are divided into."""
    I = layout.n_photos  # noqa: E741
    return [range(i, min(i + BLOCK, I)) for i in range(0, I, BLOCK)]


@one_blas_thread()
def add_squares(X: Array, layout: Layout, onto: float | Floats = 0.0, *, noise: str = "isotropic") -> float | Floats:
    """Return `onto` plus sum |x_j|^2 of the photos, or sum x_j x_j^T (D, D) for a full noise, added block by block."""
    for photos in photo_blocks(layout):
        rows = layout.rows[layout.slot_start[photos.start] : layout.slot_start[photos.stop]]
        if noise == "full":
            block = X[rows].astype(np.float64, copy=False)
            onto = onto + block.T @ block
        else:
            onto = onto + sum_squares(X, rows)
    return onto


def _compute_potentials(state: Globals, settings: Settings, dtype: np.dtype[Any]) -> Potentials:
    """Return bias_k = -(D Phi_k + G_kk) / 2 sigma^2, B = rho M - G / sigma^2 and R = rho M, G = phi Omega^-1 phi^T."""
    mean, var = state.appearance
    precision = 1.0 / state.scales.noise
    weighted = weight_by_shape(mean, state.inverse_shape)
    G = weighted @ mean.T
    bias = -0.5 * precision * (mean.shape[1] * var + np.diag(G))
    field: Array = settings.affinity * state.affinity
    B: Array = field - precision * G
    np.fill_diagonal(B, 0.0)
    exclusive = plan_sticks(settings).exclusive
    B[np.ix_(exclusive, exclusive)] = 0.0
    return Potentials(
        weighted_mean=np.ascontiguousarray(weighted, dtype),
        bias=bias.astype(dtype),
        B=B.astype(dtype),
        R=(field if settings.centred else np.empty((0, 0))).astype(dtype),
        precision=precision,
        coupling=settings.coupling,
        alpha=state.sparsity.mean,
    )
