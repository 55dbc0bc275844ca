"""Agreement of the GPU's posterior with that of the CPU in double precision; part of `gpu.py`.

The most probable object of a region is chosen by log-odds, since a nu above 1 - 6e-8 is 1 in single precision and two
such objects are tied. The agreement of nu itself is reported too. Regions of photos without an object tag are left
out.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from gpu_setting import FACTORS, GPU, PLAN, PRECISIONS, SETTINGS, make_shard, start_of
from tagsight.engine.cuda.local_step import cuda_local_step as gpu_step
from tagsight.engine.cuda.resident import download_posterior, upload_photos, upload_posterior
from tagsight.engine.local.threads import thread_map
from tagsight.model.bound import evaluate_bound
from tagsight.model.fields import correlate_tags
from tagsight.model.global_step import global_step
from tagsight.model.layout import Layout, Shard, scatter_assign
from tagsight.model.local_step import Map
from tagsight.model.local_step import local_step as cpu_step
from tagsight.model.photo_step import SweepOptions
from tagsight.model.planted import Planted, draw_appearance, draw_planted
from tagsight.model.start import blank_globals, first_globals
from tagsight.model.state import Globals, Local, SummaryStatistics
from tagsight.types import Array
from workload import N_FREE, N_OBJECTS

SWEEPS = (1, 30, 120)  # after which trainings are compared
PHOTOS, REGIONS, D = 300, 80, 256
ON = 0.01  # nu above which an object counts as on
SATURATED = 1 - 1e-6

Step = Callable[[Globals, int], tuple[Local, SummaryStatistics, Array]]  # passes; log-odds laid out like nu


class RegionPosterior(NamedTuple):
    """A posterior: nu and its log-odds by region, stick orders; and the state before its last sweep."""

    nu: Array  # (N, K)
    log_odds: Array  # (N, K)
    order: Array  # (I, K)
    bound: float
    before: tuple[Local, Globals]


def compare_with_cpu() -> dict[str, Any]:
    """Planted photos, the same start: whole trainings, and single sweeps from states of the CPU's training.

    The GPU is compared with the CPU on the same features and on the features as the GPU stores them, which separates
    the effect of arithmetic from that of storage; and with the CPU in single precision.
    """
    appearance = draw_appearance(FACTORS.total, D, scale=0.3, seed=0)
    planted = draw_planted(
        appearance, N_FREE, n_photos=PHOTOS, n_regions=REGIONS, sparsity=6.0, tags_per_photo=13.5, seed=1
    )
    shard = shard_of_planted(planted, planted.X)
    start = start_of(shard)
    tagged = np.any(planted.tags[planted.groups, :N_OBJECTS], axis=1)
    with thread_map(None) as run:

        def on_cpu(X: Array) -> dict[int, RegionPosterior]:
            other = shard_of_planted(planted, X)
            local = start._replace(assign=start.assign.astype(X.dtype))
            return train(lambda where: step_on_cpu(other, where, run), local, other.layout, planted)

        def on_gpu(dtype: torch.dtype) -> dict[int, RegionPosterior]:
            return train(lambda where: step_on_gpu(shard, where, dtype), start, shard.layout, planted)

        exact = on_cpu(planted.X)
        found: dict[str, Any] = {"photos": PHOTOS, "regions_per_photo": REGIONS, "D": D, "regions": int(tagged.sum())}
        found["bound"] = {n: posterior.bound for n, posterior in exact.items()}
        found["cpu_float32"] = compare(on_cpu(planted.X.astype(np.float32)), exact, tagged)
        for name, dtype in PRECISIONS.items():
            held = torch.from_numpy(planted.X).to(dtype).double().numpy()
            on_held = exact if np.array_equal(held, planted.X) else on_cpu(held)
            gpu, again = on_gpu(dtype), on_gpu(dtype)
            found[name] = {
                "after_sweeps": compare(gpu, exact, tagged),
                "after_sweeps_on_the_features_held": compare(gpu, on_held, tagged),
                "one_sweep_from_the_same_point": compare(one_sweep(on_held, shard, dtype), on_held, tagged),
                "same_again": all(np.array_equal(again[n].log_odds, gpu[n].log_odds) for n in SWEEPS),
            }
    return found


def train(
    start_engine: Callable[[Local], Step], local: Local, layout: Layout, planted: Planted
) -> dict[int, RegionPosterior]:
    """The posterior after each number of sweeps in SWEEPS."""
    step = start_engine(local)
    blank = blank_globals(SETTINGS, D)
    local, first, _ = step(blank, 0)
    state = first_globals(first, blank, SETTINGS, correlate_tags(planted.tags, N_FREE))
    found: dict[int, RegionPosterior] = {}
    for number in range(1, max(SWEEPS) + 1):
        before = (local, state)
        local, total, log_odds = step(state, 1)
        state = global_step(total, state, SETTINGS)
        if number in SWEEPS:
            bound = evaluate_bound(total, state, SETTINGS).total
            found[number] = read(local, log_odds, layout, bound, before)
    return found


def one_sweep(on_cpu: dict[int, RegionPosterior], shard: Shard, dtype: torch.dtype) -> dict[int, RegionPosterior]:
    """The GPU's posteriors after one sweep from the states before the CPU's last sweeps."""
    found: dict[int, RegionPosterior] = {}
    for number, posterior in on_cpu.items():
        local, state = posterior.before
        after, total, log_odds = step_on_gpu(shard, local, dtype)(state, 1)
        bound = evaluate_bound(total, global_step(total, state, SETTINGS), SETTINGS).total
        found[number] = read(after, log_odds, shard.layout, bound, posterior.before)
    return found


def step_on_cpu(shard: Shard, local: Local, run: Map) -> Step:
    now = local

    def step(state: Globals, passes: int) -> tuple[Local, SummaryStatistics, Array]:
        nonlocal now
        log_odds = np.empty_like(now.assign)
        now, total = cpu_step(shard, now, state, SETTINGS, SweepOptions(passes=passes), run, log_odds)
        return now, total, log_odds

    return step


def step_on_gpu(shard: Shard, local: Local, dtype: torch.dtype) -> Step:
    photos = upload_photos(shard, PLAN, GPU, dtype)
    posterior = upload_posterior(local, shard.layout, PLAN, GPU)
    log_odds = torch.zeros_like(posterior.assign)

    def step(state: Globals, passes: int) -> tuple[Local, SummaryStatistics, Array]:
        total = gpu_step(photos, posterior, state, SETTINGS, passes, log_odds)
        return download_posterior(posterior, local, shard.layout, PLAN), total, log_odds.cpu().numpy()

    return step


def read(local: Local, log_odds: Array, layout: Layout, bound: float, before: tuple[Local, Globals]) -> RegionPosterior:
    rows = np.arange(PHOTOS * REGIONS)
    nu = np.zeros((len(rows), FACTORS.total))
    odds = np.full_like(nu, -np.inf)
    scatter_assign(layout, local.assign, rows, nu)
    scatter_assign(layout, log_odds, rows, odds)
    return RegionPosterior(nu, odds, local.order, bound, before)


def compare(
    posteriors: dict[int, RegionPosterior], references: dict[int, RegionPosterior], tagged: Array
) -> dict[int, dict[str, float]]:
    return {number: differences(posteriors[number], references[number], tagged) for number in posteriors}


def differences(posterior: RegionPosterior, reference: RegionPosterior, tagged: Array) -> dict[str, float]:
    """Shares of regions, except for the bound and nu."""
    nu, exact = (one.nu[tagged, :N_OBJECTS] for one in (posterior, reference))
    same = choose(posterior.log_odds, tagged) == choose(reference.log_odds, tagged)
    same_nu = nu.argmax(axis=1) == exact.argmax(axis=1)
    on = exact.max(axis=1) > ON
    saturated = exact[np.arange(len(exact)), nu.argmax(axis=1)] > SATURATED
    return {
        "bound_relative_error": abs(posterior.bound - reference.bound) / abs(reference.bound),
        "same_object": float(np.mean(same)),
        "any_object_on": float(np.mean(on)),
        "same_object_where_any_is_on": float(np.mean(same[on])),
        "same_object_by_nu": float(np.mean(same_nu)),
        "same_object_by_nu_or_both_above_1-1e-6": float(np.mean(same_nu | saturated)),
        "same_stick_order": float(np.mean((posterior.order == reference.order).all(axis=1))),
        "largest_difference_of_nu": float(np.abs(posterior.nu - reference.nu).max()),
        "mean_difference_of_nu": float(np.abs(posterior.nu - reference.nu).mean()),
    }


def choose(log_odds: Array, tagged: Array) -> Array:
    return log_odds[tagged, :N_OBJECTS].argmax(axis=1)


def shard_of_planted(planted: Planted, X: Array) -> Shard:
    return make_shard(X, planted.tags, planted.groups, planted.edges)
