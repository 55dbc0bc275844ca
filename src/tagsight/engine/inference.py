"""Posterior of new photos in this process."""

import warnings
from typing import NamedTuple

from tagsight.engine.frozen_batch import FrozenBatch
from tagsight.engine.threads import ThreadBatch, thread_map
from tagsight.model.fit import Loop, run_sweeps
from tagsight.model.infer import Inference, settle_photos, start_at_rates
from tagsight.model.layout import Edges, Shard, lay_out
from tagsight.model.local_step import add_squares
from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.state import Globals, Summary
from tagsight.runtime.blas import one_blas_thread
from tagsight.types import Array, Floats, Ints


class FittedModel(NamedTuple):
    """A fitted model: all that inference needs."""

    state: Globals
    summary: Summary
    settings: Settings

    @property
    def rates(self) -> Floats:
        """(K,) share of the training regions in which each factor is on."""
        return self.summary.count / self.summary.n_regions


class NewPhotos(NamedTuple):
    """Regions of photos that training has not seen."""

    X: Array  # (N, D)
    groups: Ints  # (N,)
    edges: Edges
    allowed: Array  # (I, K)


@one_blas_thread()
def infer_photos(learned: FittedModel, photos: NewPhotos, *, n_threads: int | None = None) -> Inference:
    """Posterior with the globals fixed."""
    shard = _shard(learned, photos)
    local = start_at_rates(shard, learned.state, learned.rates, learned.settings)
    with thread_map(n_threads) as run:
        return settle_photos(shard, local, photos.allowed, learned.state, learned.settings, run)


@one_blas_thread()
def infer_transductively(
    learned: FittedModel, photos: NewPhotos, *, max_sweeps: int, tol: float, n_threads: int | None = None
) -> Inference:
    """Posterior with the globals re-fitted to the new photos beside the training photos' summary."""
    settings, state = learned.settings, learned.state
    shard = _shard(learned, photos)
    shard = shard._replace(square=add_squares(shard.features, shard.layout, noise=settings.noise))
    known = FrozenBatch(learned.summary)
    with thread_map(n_threads) as run:
        batch = ThreadBatch(shard, start_at_rates(shard, state, learned.rates, settings), settings, run)
        summaries = [known.summarise(state), batch.summarise(state)]
        fit = run_sweeps([known, batch], summaries, state, settings, Loop(max_sweeps, tol), n_run=0)
        seen = settle_photos(shard, batch.local, photos.allowed, fit.state, settings, run)
    if not fit.converged:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(f"the bound still moved after {max_sweeps} transductive sweeps", ConvergenceWarning, stacklevel=3)
    return seen


def _shard(learned: FittedModel, photos: NewPhotos) -> Shard:
    plan = plan_sticks(learned.settings)
    return Shard(photos.X, lay_out(photos.groups, photos.allowed, photos.edges, plan))
