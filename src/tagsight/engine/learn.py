"""Fit the model to shards, wherever they lie, from the start or from a checkpoint."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.engine.checkpoint import FitCheckpoint
from tagsight.engine.devices import CheckpointableBatch, LocalBatch, batches_on
from tagsight.engine.local_file import load_posterior
from tagsight.engine.stored_shards import StoredShards
from tagsight.engine.streamed import StreamedBatch
from tagsight.engine.threads import thread_map
from tagsight.model.fit import Fit, Loop, Position, fit
from tagsight.model.layout import Shard
from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.start import STARTS, start_local
from tagsight.model.state import Local
from tagsight.runtime.blas import one_blas_thread
from tagsight.runtime.interrupts import check_stop
from tagsight.types import Floats


class FitSpec(NamedTuple):
    """What to fit, besides the photos."""

    D: int
    settings: Settings
    loop: Loop
    affinity: Floats  # (K, K) M at the start
    start: str = "tags"  # one of STARTS
    seed: int = 0


@one_blas_thread()
def learn(
    shards: Sequence[Shard],
    spec: FitSpec,
    *,
    device: str = "cpu",
    engine: str = "local",
    n_threads: int | None = None,
    checkpoint: FitCheckpoint | None = None,
) -> tuple[Fit, list[LocalBatch]]:
    """Fit to shards in memory, each a batch with a global step of its own."""
    position = checkpoint and checkpoint.load_position()
    start = _starter(shards, spec)
    with batches_on(device, n_threads, engine) as make_batch:
        batches: list[LocalBatch] = []
        for b, shard in enumerate(shards):
            if checkpoint is None or position is None:
                batches.append(make_batch(shard, start(shard), spec.settings))
            else:
                now, before = load_posterior(checkpoint.place_batch(b))
                batches.append(make_batch(shard, now, spec.settings, before))
        return _fit(batches, spec, checkpoint), batches


@one_blas_thread()
def learn_stored(
    shards: StoredShards,
    square: float | Floats,
    folder: Path,
    spec: FitSpec,
    *,
    n_threads: int | None = None,
    checkpoint: FitCheckpoint | None = None,
) -> Fit:
    """Fit to shards on disk, with one global step for all; their local posteriors are kept in `folder` meanwhile.

    `square` is that of all features (`model.local_step.add_squares`).
    """
    with thread_map(n_threads) as run:
        batch = StreamedBatch(shards, square, folder, spec.settings, run)
        if checkpoint is not None and checkpoint.load_position() is not None:
            batch.resume(checkpoint.place_batch(0))
        else:
            batch.start(_starter(shards, spec))
        return _fit([batch], spec, checkpoint)


def _starter(shards: Sequence[Shard], spec: FitSpec) -> Callable[[Shard], Local]:
    settings = spec.settings
    plan = plan_sticks(settings)
    fill = STARTS[spec.start](shards, settings.factors, spec.seed)
    alpha = np.full(plan.n_sequences, settings.sparsity or 1.0)
    return lambda shard: start_local(shard, fill, alpha, plan)


def _fit(batches: Sequence[CheckpointableBatch], spec: FitSpec, checkpoint: FitCheckpoint | None) -> Fit:
    """As `model.fit.fit`; a signal stops it after a sweep, and a checkpoint keeps the position and goes on from it."""
    D, settings, loop, affinity, _, seed = spec
    if checkpoint is None:
        return fit(batches, D, settings, _check_after_sweeps(loop), affinity=affinity, seed=seed)
    loop = loop._replace(on_position=lambda position: checkpoint.note(position, batches))
    position = checkpoint.load_position()
    result = fit(batches, D, settings, loop, affinity=affinity, seed=seed, position=position)
    checkpoint.finish(result)
    checkpoint.stop.check()
    return result


def _check_after_sweeps(loop: Loop) -> Loop:
    def on_position(position: Position) -> None:
        check_stop()
        loop.on_position(position)

    return loop._replace(on_position=on_position)
