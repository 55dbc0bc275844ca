"""Local steps in this process: threads work on blocks of photos (the kernels release the GIL)."""

import os
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tagsight.engine.local.posterior_file import SavedPosterior, save_posterior
from tagsight.model.free_factors import sample_residuals
from tagsight.model.layout import Shard, clear_columns
from tagsight.model.local_step import Map, local_step
from tagsight.model.photo_step import SweepOptions
from tagsight.model.sampling import Sample
from tagsight.model.settings import Settings
from tagsight.model.state import Globals, Local, SummaryStatistics
from tagsight.runtime.blas import one_blas_thread


class ThreadBatch:
    """A shard and its local posterior in this process's memory (see `engine.devices.LocalBatch`)."""

    def __init__(self, shard: Shard, local: Local, settings: Settings, run: Map, previous: Local | None = None):
        self.shard = shard
        self.local = local
        self.previous = previous or local
        self._settings = settings
        self._run = run

    def summarise(self, state: Globals) -> SummaryStatistics:
        """Return the summary of the current local posterior."""
        _, summary = local_step(self.shard, self.local, state, self._settings, SweepOptions(passes=0), self._run)
        return summary

    def step(self, state: Globals) -> SummaryStatistics:
        """Update the local posterior and return its summary."""
        options = SweepOptions(passes=self._settings.passes)
        self.local, summary = local_step(self.shard, self.local, state, self._settings, options, self._run)
        return summary

    def sample_residuals(self, state: Globals, size: int, seed: int) -> Sample:
        """Return a sample of regions minus the contribution of the tagged factors."""
        return sample_residuals(self.shard, self.local.assign, state, self._settings.factors, size, seed)

    def clear_free(self) -> None:
        """Set nu of every free factor to 0, and keep the previous posterior for `restore`."""
        self.previous = self.local
        tagged = self._settings.factors.tagged
        self.local = self.local._replace(assign=clear_columns(self.shard.layout, self.local.assign, tagged))

    def restore(self) -> None:
        """Return to the posterior before the last `clear_free`."""
        self.local = self.previous

    def save(self, folder: Path, *, with_previous: bool) -> None:
        """Save the local posterior and, if `with_previous`, the one that `restore` returns to."""
        save_posterior(SavedPosterior(self.local, self.previous if with_previous else None), folder)


@contextmanager
def thread_map(n_threads: int | None) -> Generator[Map, None, None]:
    """Yield a map function over `n_threads` threads (None: one per core), while BLAS uses one thread.

    The map function yields results in order.
    """
    count = n_threads or os.cpu_count() or 1
    with one_blas_thread():
        if count == 1:
            yield map
        else:
            with ThreadPoolExecutor(count) as pool:
                yield pool.map
