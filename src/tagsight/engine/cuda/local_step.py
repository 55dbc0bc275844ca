"""The local step on a GPU, in the order of `model.photo_step`: prior logits, sweep, counts, sticks, sums."""

from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
import triton
from torch import Tensor

from tagsight.engine.cuda.products import project, split_parts, sum_products
from tagsight.engine.cuda.resident import Chunk, Photos, Posterior
from tagsight.engine.cuda.stick_kernels import prior_logits, settle_sticks
from tagsight.engine.cuda.summary_kernel import summarise_photos
from tagsight.engine.cuda.sweep_kernel import sweep_photos
from tagsight.engine.cuda.transfer import cut, fetch, join, pack
from tagsight.model.noise import weight_by_shape
from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.state import Globals, SummaryStatistics
from tagsight.types import Array, Floats

FACTORS, REGIONS = 8, 32  # size of a tile, which one warp holds in registers


class DevicePotentials(NamedTuple):
    """The globals on the GPU; see `model.photo_step.Potentials`."""

    weighted_mean: Tensor  # (PARTS, K, D), of the features' type
    bias: Tensor  # (K,) float32
    B: Tensor  # (K, K) float32
    R: Tensor  # (K, K) float32, rho M
    alpha: Tensor  # (S,) float64
    precision: Tensor  # (1,) float32
    coupling: float
    centred: bool
    exclusive: bool  # at most one object or free factor is on in a region
    ranked: bool


class Totals(NamedTuple):
    """Sums over photos, in double precision on the GPU."""

    present: Tensor  # (K,) n_k
    pair: Tensor  # (K, K)
    photo_pair: Tensor  # (K, K)
    cross: Tensor  # (K, D)
    assign: Tensor  # (2,) entropy of q(z), agreement
    sticks: Tensor  # (2 + S,) entropy, log prior, sum of E[log v]


def cuda_local_step(
    photos: Photos,
    posterior: Posterior,
    state: Globals,
    settings: Settings,
    passes: int,
    log_odds: Tensor | None = None,
) -> SummaryStatistics:
    """Update `posterior` in place with `passes` sweeps and return its summary.

    `log_odds`, with the layout of `posterior.assign`, is filled with the logits of nu, which distinguish values of nu
    that round to 1.
    """
    potentials = upload_globals(state, settings, photos.features)
    total = compute_totals(photos, posterior, potentials, passes, log_odds)
    return make_summary(fetch(join(total), total), photos, settings)


def compute_totals(
    photos: Photos, posterior: Posterior, potentials: DevicePotentials, passes: int, log_odds: Tensor | None = None
) -> Totals:
    """Return the sums of a local step; this is the part of `cuda_local_step` that runs on the GPU."""
    return reduce(
        _accumulate, (_update_chunk(chunk, photos, posterior, potentials, passes, log_odds) for chunk in photos.chunks)
    )


def _update_chunk(
    chunk: Chunk,
    photos: Photos,
    posterior: Posterior,
    potentials: DevicePotentials,
    passes: int,
    log_odds: Tensor | None,
) -> Totals:
    dense = photos.features.new_zeros((len(potentials.weighted_mean), len(potentials.bias), chunk.n_columns))
    if passes > 0:
        projection = project(
            potentials.weighted_mean, photos.features[chunk.first_slot : chunk.first_slot + chunk.n_slots]
        )
        for before in range(passes):
            if before > 0:
                count, _ = count_chunk(chunk, photos, posterior, potentials, dense)
                settle_chunk(chunk, photos, posterior, potentials, count, update=True)
            sweep_chunk(chunk, photos, posterior, potentials, projection, log_odds)
    count, assign = count_chunk(chunk, photos, posterior, potentials, dense)
    sticks = settle_chunk(chunk, photos, posterior, potentials, count, update=passes > 0)
    pair, cross = sum_products(
        dense, photos.features[chunk.first_slot : chunk.first_slot + chunk.n_columns], photos.block
    )
    starts = photos.slot_start[chunk.first_photo : chunk.first_photo + chunk.n_photos + 1]
    present = count.clamp_(min=0.0).sum(dim=0)
    if potentials.exclusive:
        pair *= 1 - photos.exclusive[:, None] * photos.exclusive  # two exclusive factors are never on together
    pair.diagonal().copy_(present)
    photo_pair = (count / starts.diff().clamp(min=1)[:, None]).T @ count
    return Totals(present, pair, photo_pair, cross, assign.sum(dim=0, dtype=torch.float64), sticks.sum(dim=0))


def sweep_chunk(
    chunk: Chunk,
    photos: Photos,
    posterior: Posterior,
    potentials: DevicePotentials,
    projection: Tensor,
    log_odds: Tensor | None = None,
) -> None:
    """Update every nu of the chunk's photos once, given `projection`, the parts (PARTS, K, slots) of phi X^T."""
    logits = _compute_prior_logits(chunk, photos, posterior, potentials)
    _launch(
        sweep_photos,
        chunk.n_photos,
        posterior.assign,
        posterior.assign if log_odds is None else log_odds,
        torch.empty_like(logits) if potentials.centred else logits,
        projection,
        logits,
        potentials.bias,
        potentials.B,
        potentials.R,
        photos.exclusive,
        photos.factor_start,
        photos.factor,
        photos.assign_start,
        photos.slot_start,
        photos.colour_start,
        photos.class_start,
        photos.neighbour_start,
        photos.neighbour,
        photos.weight,
        potentials.precision,
        potentials.coupling,
        chunk.first_photo,
        chunk.first_slot,
        chunk.n_slots,
        len(potentials.bias),
        COUPLED=potentials.coupling != 0.0,
        CENTRED=potentials.centred,
        EXCLUSIVE=potentials.exclusive,
        KEEP_LOG_ODDS=log_odds is not None,
        PARTS=len(potentials.weighted_mean),
        FACTORS=FACTORS,
        REGIONS=REGIONS,
        num_warps=1,
    )


def _compute_prior_logits(chunk: Chunk, photos: Photos, posterior: Posterior, potentials: DevicePotentials) -> Tensor:
    """Return E[log pi_k] - E[log(1 - pi_k)] (photos, K)."""
    K = len(potentials.bias)
    logits = torch.empty((chunk.n_photos, K), dtype=torch.float32, device=posterior.assign.device)
    _launch(
        prior_logits,
        chunk.n_photos,
        logits,
        posterior.column,
        posterior.tau_1,
        posterior.tau_2,
        photos.stick_start,
        photos.sequence,
        chunk.first_photo,
        K,
        PLACES=_places(photos),
        num_warps=_stick_warps(photos),
    )
    return logits


def count_chunk(
    chunk: Chunk, photos: Photos, posterior: Posterior, potentials: DevicePotentials, dense: Tensor
) -> tuple[Tensor, Tensor]:
    """Return n_k (photos, K), -1 where forbidden, and each photo's entropy and agreement; fill `dense` with nu^T."""
    K, device = len(potentials.bias), dense.device
    count = torch.full((chunk.n_photos, K), -1.0, dtype=torch.float64, device=device)
    terms = torch.empty((chunk.n_photos, 2), dtype=torch.float32, device=device)
    _launch(
        summarise_photos,
        chunk.n_photos,
        dense,
        count,
        terms,
        posterior.assign,
        photos.exclusive,
        photos.factor_start,
        photos.factor,
        photos.assign_start,
        photos.slot_start,
        photos.neighbour_start,
        photos.neighbour,
        photos.weight,
        chunk.first_photo,
        chunk.first_slot,
        chunk.n_columns,
        K,
        COUPLED=potentials.coupling != 0.0,
        EXCLUSIVE=potentials.exclusive,
        PARTS=len(potentials.weighted_mean),
        FACTORS=FACTORS,
        REGIONS=REGIONS,
        num_warps=1,
    )
    return count, terms


def settle_chunk(
    chunk: Chunk, photos: Photos, posterior: Posterior, potentials: DevicePotentials, count: Tensor, *, update: bool
) -> Tensor:
    """Return each photo's stick terms (photos, 2 + S); with `update`, after an update of its sticks."""
    S = len(potentials.alpha)
    terms = torch.empty((chunk.n_photos, 2 + S), dtype=torch.float64, device=count.device)
    _launch(
        settle_sticks,
        chunk.n_photos,
        terms,
        posterior.column,
        posterior.tau_1,
        posterior.tau_2,
        torch.empty_like(posterior.column),
        photos.stick_start,
        photos.sequence,
        photos.slot_start,
        count,
        potentials.alpha,
        chunk.first_photo,
        len(potentials.bias),
        UPDATE=update,
        RANKED=potentials.ranked,
        SEQUENCES=S,
        PLACES=_places(photos),
        num_warps=_stick_warps(photos),
    )
    return terms


def _launch(
    kernel: triton.JITFunction, n_programs: int, *arguments: Tensor | float, num_warps: int, **constants: int
) -> None:
    kernel[(n_programs,)](*arguments, num_stages=1, num_warps=num_warps, **constants)


def _places(photos: Photos) -> int:
    return max(32, triton.next_power_of_2(photos.most_sticks))


def _stick_warps(photos: Photos) -> int:
    return max(1, _places(photos) // 64)  # two places per lane fit in its registers, four do not


def upload_globals(state: Globals, settings: Settings, like: Tensor) -> DevicePotentials:
    """Return the potentials on the device of the features `like`, and in their type."""
    values = list_globals(state)
    flat = pack(values, like.device).to(like.device, non_blocking=True)
    return compute_potentials(cut(flat, values), settings, like.dtype)


def list_globals(state: Globals) -> list[Floats]:
    """Return the arrays that `compute_potentials` uses."""
    mean, var = state.appearance
    values = [mean, var, state.affinity, state.sparsity.mean, np.array([1.0 / state.scales.noise])]
    return [*values, weight_by_shape(mean, state.inverse_shape)] if state.inverse_shape.size else values


def compute_potentials(values: Sequence[Tensor], settings: Settings, dtype: torch.dtype) -> DevicePotentials:
    """Return the potentials from the arrays of `list_globals`, without waiting for the GPU."""
    mean, var, M, alpha, precision, *rest = values
    weighted = rest[0] if rest else mean
    G = weighted @ mean.T
    R = settings.affinity * M
    B = R - precision * G
    if settings.exclusive:
        objects, free = slice(settings.factors.objects), slice(settings.factors.tagged, None)
        for rows, columns in product((objects, free), repeat=2):
            B[rows, columns] = 0.0
    return DevicePotentials(
        weighted_mean=split_parts(weighted.float(), dtype),
        bias=(-0.5 * precision * (mean.shape[1] * var + G.diagonal())).float(),
        B=B.fill_diagonal_(0.0).float(),
        R=R.float(),
        alpha=alpha,
        precision=precision.float(),
        coupling=settings.coupling,
        centred=settings.centred,
        exclusive=settings.exclusive,
        ranked=plan_sticks(settings).ranked,
    )


def _accumulate(total: Totals, part: Totals) -> Totals:
    return Totals._make(a.add_(b) for a, b in zip(total, part, strict=True))


def make_summary(total: Sequence[Array], photos: Photos, settings: Settings) -> SummaryStatistics:
    """Return the summary with the sums in `total`, the arrays of `Totals`."""
    count, pair, photo_pair, cross, assign, sticks = total
    return SummaryStatistics(
        n_regions=float(len(photos.neighbour_start) - 1),
        square=photos.square,
        count=count,
        pair=pair,
        photo_pair=photo_pair,
        cross=cross,
        n_sticks=photos.n_sticks,
        log_sticks=sticks[2:],
        stick_entropy=float(sticks[0]),
        log_prior=float(sticks[1]) - (photos.log_orders if plan_sticks(settings).ranked else 0.0),
        assign_entropy=float(assign[0]),
        agreement=float(assign[1]),
    )
