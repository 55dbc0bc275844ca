"""Out-of-core local steps: a batch of shards on disk, with one shard in memory at a time.

There is one global step for all shards. With one global step per shard (memoised batches, `model.fit`), the result
would depend on the number of shards, and so on the available memory. Summaries are accumulated over shards block by
block, so that shards cut at multiples of `model.local_step.BLOCK` photos give bit-identical results to one shard in
memory.
"""

import os
from collections.abc import Callable
from itertools import count
from pathlib import Path

from tagsight.engine.local.posterior_file import current_path, link_local, load_local, previous_path, save_local
from tagsight.engine.local.shard_file import StoredShards
from tagsight.model.free_factors import sample_regions, subtract_tagged
from tagsight.model.layout import Shard, clear_columns
from tagsight.model.local_step import Map, local_step
from tagsight.model.photo_step import SweepOptions
from tagsight.model.sampling import Sample, merge_samples
from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.state import Globals, Local, SummaryStatistics, empty_summary
from tagsight.types import Floats


class StreamedBatch:
    """Shards on disk, with their local posteriors in `folder` (see `engine.devices.CheckpointableBatch`).

    `square` is the sum of squares of all shards (`model.local_step.add_squares`).
    """

    def __init__(self, shards: StoredShards, square: float | Floats, folder: Path, settings: Settings, run: Map):
        self._shards = shards
        self._square = square
        self._folder = folder
        self._settings = settings
        self._run = run
        self._numbers = count()
        self._current: list[Path] = []
        self._previous: list[Path] = []
        folder.mkdir(parents=True, exist_ok=True)
        self._remove_unused()

    def start(self, start: Callable[[Shard], Local]) -> None:
        """Initialise the local posterior of each shard with `start`."""
        self._current = [self._store(start(shard)) for shard in self._shards]

    def resume(self, saved: Path) -> None:
        """Initialise the local posteriors from the files that `save` wrote to folder `saved`."""
        self._current = [self._link(current_path(saved, s)) for s in range(len(self._shards))]
        if previous_path(saved).exists():
            self._previous = [self._link(previous_path(saved, s)) for s in range(len(self._shards))]

    def summarise(self, state: Globals) -> SummaryStatistics:
        """Return the summary of the current local posterior."""
        total = self._blank(state)
        for s, shard in enumerate(self._shards):
            _, total = self._step_shard(s, shard, state, SweepOptions(passes=0), total)
        return total

    def step(self, state: Globals) -> SummaryStatistics:
        """Update the local posterior and return its summary."""
        total = self._blank(state)
        for s, shard in enumerate(self._shards):
            local, total = self._step_shard(s, shard, state, SweepOptions(passes=self._settings.passes), total)
            self._current[s] = self._store(local)
        self._remove_unused()
        return total

    def sample_residuals(self, state: Globals, size: int, seed: int) -> Sample:
        """Return a sample of regions minus the contribution of the tagged factors."""
        factors = self._settings.factors
        sample: Sample | None = None
        for s, shard in enumerate(self._shards):
            drawn = sample_regions(shard, load_local(self._current[s]).assign, factors, size, seed)
            sample = drawn if sample is None else merge_samples([sample, drawn], size)
        assert sample is not None
        return subtract_tagged(sample, state, factors)

    def clear_free(self) -> None:
        """Set nu of every free factor to 0, and keep the previous posterior for `restore`."""
        self._previous = list(self._current)
        tagged = self._settings.factors.tagged
        for s in range(len(self._shards)):
            local = load_local(self._current[s])
            assign = clear_columns(self._shards.layout(s), local.assign, tagged)
            self._current[s] = self._store(local._replace(assign=assign))
        self._remove_unused()

    def restore(self) -> None:
        """Return to the posterior before the last `clear_free`."""
        self._current = list(self._previous)
        self._remove_unused()

    def save(self, folder: Path, *, with_previous: bool) -> None:
        """Save hard links to the files of the local posteriors, which are never overwritten."""
        folder.mkdir(parents=True)
        for s in range(len(self._shards)):
            os.link(self._current[s], current_path(folder, s))
            if with_previous:
                os.link(self._previous[s], previous_path(folder, s))

    def _step_shard(
        self, s: int, shard: Shard, state: Globals, options: SweepOptions, total: SummaryStatistics
    ) -> tuple[Local, SummaryStatistics]:
        without_square = shard._replace(square=0.0)  # `_blank` includes that of all shards
        return local_step(
            without_square, load_local(self._current[s]), state, self._settings, options, self._run, onto=total
        )

    def _blank(self, state: Globals) -> SummaryStatistics:
        K, D = state.appearance.mean.shape
        return empty_summary(K, D, plan_sticks(self._settings).n_sequences)._replace(square=self._square)

    def _store(self, local: Local) -> Path:
        path = self._new_path()
        save_local(local, path)
        return path

    def _link(self, saved: Path) -> Path:
        path = self._new_path()
        link_local(saved, path)
        return path

    def _new_path(self) -> Path:
        return self._folder / f"{next(self._numbers)}.safetensors"

    def _remove_unused(self) -> None:
        """Remove the files that are neither current nor previous; saved links to them stay."""
        written = {path for path in self._folder.glob("*.safetensors") if path.stem.isdecimal()}
        for path in written - set(self._current) - set(self._previous):
            path.unlink()
