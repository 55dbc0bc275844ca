"""Fit the model to shards in memory or on disk, from the start or from a checkpoint."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.engine.checkpoint import FitCheckpoint
from tagsight.engine.devices import CheckpointableBatch, ComputeTarget, LocalBatch, open_batches
from tagsight.engine.local.posterior_file import load_posterior
from tagsight.engine.local.shard_file import StoredShards
from tagsight.engine.local.streamed import StreamedBatch
from tagsight.engine.local.threads import thread_map
from tagsight.model.fit import Fit, FitProgress, Loop, fit
from tagsight.model.layout import Shard
from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.start import STARTS, start_local
from tagsight.model.state import Local
from tagsight.runtime.blas import one_blas_thread
from tagsight.runtime.interrupts import check_stop
from tagsight.types import Floats


class FitSpec(NamedTuple):
    """Settings and start of a fit."""

    D: int
    settings: Settings
    loop: Loop
    affinity: Floats  # (K, K) initial M
    start: str = "tags"  # one of STARTS
    seed: int = 0


def fit_shards(
    shards: Sequence[Shard],
    spec: FitSpec,
    target: ComputeTarget,
    checkpoint: FitCheckpoint | None = None,
) -> tuple[Fit, list[LocalBatch]]:
    """Fit to shards in memory. Each shard is a batch, so there is a global step after each.

    Returns the fit and one batch per shard, with its local posterior. The fit resumes from `checkpoint` if that holds
    progress, and saves its own there. A stop signal ends it after a sweep.
    """
    D, settings, loop, affinity, _, seed = spec
    progress = checkpoint and checkpoint.load_progress()
    with one_blas_thread(), open_batches(target) as make_batch:
        start = _make_start(shards, spec)
        batches: list[LocalBatch] = []
        for b, shard in enumerate(shards):
            if checkpoint is None or progress is None:
                batches.append(make_batch(shard, start(shard), settings))
            else:
                current, previous = load_posterior(checkpoint.batch_folder(b))
                batches.append(make_batch(shard, current, settings, previous=previous))
        loop = _save_progress(loop, batches, checkpoint)
        result = fit(batches, D, settings, loop, affinity=affinity, seed=seed, progress=progress)
        _save_result(result, checkpoint)
        return result, batches


def fit_stored_shards(
    shards: StoredShards,
    square: float | Floats,
    folder: Path,
    spec: FitSpec,
    *,
    n_threads: int | None = None,
    checkpoint: FitCheckpoint | None = None,
) -> Fit:
    """Fit to shards on disk. All shards are one batch, so there is one global step per sweep.

    Their local posteriors are written to `folder`. `square` is the sum of squares of all features
    (`model.local_step.add_squares`). For `checkpoint` see `fit_shards`.
    """
    D, settings, loop, affinity, _, seed = spec
    progress = checkpoint and checkpoint.load_progress()
    with one_blas_thread(), thread_map(n_threads) as run:
        batch = StreamedBatch(shards, square, folder, settings, run)
        if checkpoint is None or progress is None:
            batch.start(_make_start(shards, spec))
        else:
            batch.resume(checkpoint.batch_folder(0))
        loop = _save_progress(loop, [batch], checkpoint)
        result = fit([batch], D, settings, loop, affinity=affinity, seed=seed, progress=progress)
        _save_result(result, checkpoint)
        return result


def _make_start(shards: Sequence[Shard], spec: FitSpec) -> Callable[[Shard], Local]:
    """Return a function from a shard to its initial local posterior."""
    settings = spec.settings
    plan = plan_sticks(settings)
    fill = STARTS[spec.start](shards, settings.factors, spec.seed)
    alpha = np.full(plan.n_sequences, settings.sparsity or 1.0)
    return lambda shard: start_local(shard, fill, alpha, plan)


def _save_progress(loop: Loop, batches: Sequence[CheckpointableBatch], checkpoint: FitCheckpoint | None) -> Loop:
    """Return `loop` with a callback that saves progress to `checkpoint`, and stops the fit after a signal."""

    def on_progress(progress: FitProgress) -> None:
        loop.on_progress(progress)
        if checkpoint is None:
            check_stop()
        else:
            checkpoint.update(progress, batches)

    return loop._replace(on_progress=on_progress)


def _save_result(result: Fit, checkpoint: FitCheckpoint | None) -> None:
    if checkpoint is not None:
        checkpoint.save_fit(result)
        checkpoint.stop.check()
