"""Posterior of new photos under a fitted model."""

import warnings
from typing import NamedTuple

import numpy as np

from tagsight.engine.local.threads import ThreadBatch, thread_map
from tagsight.model.fit import Loop, run_sweeps
from tagsight.model.layout import Edges, Shard, lay_out, scatter_assign
from tagsight.model.local_step import Map, add_squares, local_step
from tagsight.model.photo_step import SweepOptions
from tagsight.model.photo_sticks import expect_weights
from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.start import start_local
from tagsight.model.state import Globals, Local, SummaryStatistics
from tagsight.runtime.blas import one_blas_thread
from tagsight.types import Array, Floats, Ints

TO_CONVERGENCE = SweepOptions(passes=200, tol=1e-3, summarise=False)


class FittedModel(NamedTuple):
    """A fitted model: all that inference needs."""

    state: Globals
    summary: SummaryStatistics
    settings: Settings

    @property
    def rates(self) -> Floats:
        """(K,) share of the training regions in which each factor is on."""
        return self.summary.count / self.summary.n_regions


class NewPhotos(NamedTuple):
    """Regions of photos that were not used in training."""

    X: Array  # (N, D)
    groups: Ints  # (N,)
    edges: Edges
    allowed: Array  # (I, K)


class Inference(NamedTuple):
    """Posterior of photos; rows are in the order of their features."""

    assign: Array  # (N, K) posterior probabilities
    log_odds: Array  # (N, K) their logits, which distinguish probabilities that round to 1; -inf where forbidden
    prior: Floats  # (I, K) E[pi]: the photo-level weight of each factor
    appearance: Floats  # (K, D) appearance used: the trained one, or updated in transductive mode


class FrozenBatch:
    """A batch whose local posterior does not change: only its summary is stored (see `model.fit.Batch`)."""

    def __init__(self, summary: SummaryStatistics):
        self._summary = summary

    def summarise(self, state: Globals) -> SummaryStatistics:
        """Return the summary."""
        return self._summary

    def step(self, state: Globals) -> SummaryStatistics:
        """Return the summary, without an update."""
        return self._summary


@one_blas_thread()
def infer_photos(learned: FittedModel, photos: NewPhotos, *, n_threads: int | None = None) -> Inference:
    """Return the posterior of new photos with the globals fixed."""
    shard = _make_shard(learned, photos)
    local = start_at_rates(shard, learned.state, learned.rates, learned.settings)
    with thread_map(n_threads) as run:
        return infer_shard(shard, local, photos.allowed, learned.state, learned.settings, run)


@one_blas_thread()
def infer_transductively(
    learned: FittedModel, photos: NewPhotos, *, max_sweeps: int, tol: float, n_threads: int | None = None
) -> Inference:
    """Return the posterior of new photos with the globals fitted to them and the training photos' summary."""
    settings, state = learned.settings, learned.state
    shard = _make_shard(learned, photos)
    shard = shard._replace(square=add_squares(shard.features, shard.layout, noise=settings.noise))
    known = FrozenBatch(learned.summary)
    with thread_map(n_threads) as run:
        batch = ThreadBatch(shard, start_at_rates(shard, state, learned.rates, settings), settings, run)
        summaries = [known.summarise(state), batch.summarise(state)]
        fit = run_sweeps([known, batch], summaries, state, settings, Loop(max_sweeps, tol), n_run=0)
        inferred = infer_shard(shard, batch.local, photos.allowed, fit.state, settings, run)
    if not fit.converged:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"the bound did not converge in max_sweeps={max_sweeps} transductive sweeps; raise max_sweeps or tol",
            ConvergenceWarning,
            stacklevel=3,
        )
    return inferred


def start_at_rates(shard: Shard, state: Globals, rates: Floats, settings: Settings) -> Local:
    """Return the local posterior with nu of every region at `rates` (K,)."""

    def fill(X: Array) -> Array:
        return np.broadcast_to(rates, (len(X), len(rates)))

    return start_local(shard, fill, state.sparsity.mean, plan_sticks(settings))


def infer_shard(shard: Shard, local: Local, allowed: Array, state: Globals, settings: Settings, run: Map) -> Inference:
    """Return the posterior of the shard's photos: sweeps from `local` to convergence with the globals fixed."""
    X, layout, _ = shard
    flat_log_odds = np.empty_like(local.assign)
    local, _ = local_step(shard, local, state, settings, TO_CONVERGENCE, run, flat_log_odds)
    rows = np.arange(len(X))
    assign = np.zeros((len(X), settings.factors.total), X.dtype)
    scatter_assign(layout, local.assign, rows, assign)
    log_odds = np.full_like(assign, -np.inf)
    scatter_assign(layout, flat_log_odds, rows, log_odds)
    prior = expect_weights(local.order, local.sticks, allowed, plan_sticks(settings))
    return Inference(assign, log_odds, prior, state.appearance.mean)


def _make_shard(learned: FittedModel, photos: NewPhotos) -> Shard:
    plan = plan_sticks(learned.settings)
    return Shard(photos.X, lay_out(photos.groups, photos.allowed, photos.edges, plan))
