"""Fit the model to shards in memory or on disk, from the start or from a checkpoint."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.engine.checkpoint import FitCheckpoint
from tagsight.engine.devices import CheckpointableBatch, ComputeTarget, LocalBatch, open_batches
from tagsight.engine.local_file import load_posterior
from tagsight.engine.shard_file import StoredShards
from tagsight.engine.streamed import StreamedBatch
from tagsight.engine.threads import thread_map
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


@one_blas_thread()
def fit_shards(
    shards: Sequence[Shard],
    spec: FitSpec,
    target: ComputeTarget,
    checkpoint: FitCheckpoint | None = None,
) -> tuple[Fit, list[LocalBatch]]:
    """Fit to shards in memory, with one global step per shard.

    Returns the fit and one batch per shard, with its local posterior. The fit resumes from `checkpoint` if that holds
    progress, and saves its own there.
    """
    progress = checkpoint and checkpoint.load_progress()
    start = _make_start(shards, spec)
    with open_batches(target) as make_batch:
        batches: list[LocalBatch] = []
        for b, shard in enumerate(shards):
            if checkpoint is None or progress is None:
                batches.append(make_batch(shard, start(shard), spec.settings))
            else:
                current, previous = load_posterior(checkpoint.batch_folder(b))
                batches.append(make_batch(shard, current, spec.settings, previous=previous))
        return _fit(batches, spec, checkpoint), batches


@one_blas_thread()
def fit_stored_shards(
    shards: StoredShards,
    square: float | Floats,
    folder: Path,
    spec: FitSpec,
    *,
    n_threads: int | None = None,
    checkpoint: FitCheckpoint | None = None,
) -> Fit:
    """Fit to shards on disk, with one global step per sweep; their local posteriors are written to `folder`.

    `square` is the sum of squares of all features (`model.local_step.add_squares`).
    """
    with thread_map(n_threads) as run:
        batch = StreamedBatch(shards, square, folder, spec.settings, run)
        if checkpoint is not None and checkpoint.load_progress() is not None:
            batch.resume(checkpoint.batch_folder(0))
        else:
            batch.start(_make_start(shards, spec))
        return _fit([batch], spec, checkpoint)


def _make_start(shards: Sequence[Shard], spec: FitSpec) -> Callable[[Shard], Local]:
    """Return a function from a shard to its initial local posterior."""
    settings = spec.settings
    plan = plan_sticks(settings)
    fill = STARTS[spec.start](shards, settings.factors, spec.seed)
    alpha = np.full(plan.n_sequences, settings.sparsity or 1.0)
    return lambda shard: start_local(shard, fill, alpha, plan)


def _fit(batches: Sequence[CheckpointableBatch], spec: FitSpec, checkpoint: FitCheckpoint | None) -> Fit:
    """Run `model.fit.fit`, from and to `checkpoint` if there is one; a stop signal ends it after a sweep."""
    D, settings, loop, affinity, _, seed = spec
    if checkpoint is None:
        return fit(batches, D, settings, _check_after_sweeps(loop), affinity=affinity, seed=seed)
    loop = loop._replace(on_progress=lambda progress: checkpoint.update(progress, batches))
    progress = checkpoint.load_progress()
    result = fit(batches, D, settings, loop, affinity=affinity, seed=seed, progress=progress)
    checkpoint.save_fit(result)
    checkpoint.stop.check()
    return result


def _check_after_sweeps(loop: Loop) -> Loop:
    def on_progress(progress: FitProgress) -> None:
        check_stop()
        loop.on_progress(progress)

    return loop._replace(on_progress=on_progress)
