"""A worker of a fit on Ray: it performs numbered operations in order, each once, however often it is called."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from tagsight.engine.local.posterior_file import current_path, previous_path, save_local
from tagsight.engine.local.shard_file import load_shard
from tagsight.engine.local.threads import ThreadBatch
from tagsight.engine.ray.parts import COMMIT, SHARD, Commit, load_commit, save_commit
from tagsight.errors import TagsightError
from tagsight.model.sampling import Sample, merge_samples
from tagsight.model.settings import Settings
from tagsight.model.state import Globals, Local, SummaryStatistics, merge
from tagsight.runtime.blas import one_blas_thread
from tagsight.types import Array

COMMIT_EVERY = 10  # operations; a restarted worker repeats fewer than this


class Operation(NamedTuple):
    """An operation that changes a local posterior."""

    name: Literal["step", "clear_free", "restore"]
    state: Globals | None = None  # of a step


class Journal(NamedTuple):
    """The operation to perform, preceded by those that a restarted worker may have to repeat."""

    base: int  # number of operations that every worker has committed
    operations: Sequence[Any]  # after those, the last one to perform; references that `fetch` resolves

    @property
    def number(self) -> int:
        """Number of the last operation."""
        return self.base + len(self.operations)


class ShardWorker:
    """A shard and its local posterior, loaded from a folder that `prepare_worker` or an earlier worker wrote."""

    def __init__(self, folder: Path, settings: Settings, fetch: Callable[[Any], Operation]):
        self._folder = folder
        self._settings = settings
        self._fetch = fetch
        self._number, local, previous, self._answer = load_commit(folder / COMMIT)
        self._batch = ThreadBatch(load_shard(folder / SHARD), local, settings, map, previous)

    def perform(self, journal: Journal) -> SummaryStatistics | None:
        """Perform the operations of the journal that are not done yet, and return the result of the last."""
        self._perform_until(journal)
        return self._answer

    @one_blas_thread()
    def summarise(self, journal: Journal, state: Globals) -> SummaryStatistics:
        """Return the summary of the posterior after the journal's operations."""
        self._perform_until(journal)
        return self._batch.summarise(own_arrays(state))

    @one_blas_thread()
    def sample_residuals(self, journal: Journal, state: Globals, size: int, seed: int) -> Sample:
        """See `model.fit.FitBatch`."""
        self._perform_until(journal)
        return self._batch.sample_residuals(own_arrays(state), size, seed)

    def local(self, journal: Journal) -> Local:
        """Return the posterior after the journal's operations."""
        self._perform_until(journal)
        return self._batch.local

    def save(self, journal: Journal, folder: Path, part: int, with_previous: bool) -> None:
        """Save the posterior after the journal's operations as that of shard `part` (see `local.posterior_file`)."""
        self._perform_until(journal)
        save_local(self._batch.local, current_path(folder, part))
        if with_previous:
            save_local(self._batch.previous, previous_path(folder, part))

    def merge(self, a: SummaryStatistics, b: SummaryStatistics) -> SummaryStatistics:
        """See `model.state.merge`."""
        return merge(a, b)

    def merge_samples(self, a: Sample, b: Sample, size: int) -> Sample:
        """See `model.sampling.merge_samples`."""
        return merge_samples([a, b], size)

    @one_blas_thread()
    def _perform_until(self, journal: Journal) -> None:
        if not journal.base <= self._number <= journal.number:
            raise TagsightError(
                f"a Ray worker has performed {self._number} operations and was sent those from {journal.base} to "
                f"{journal.number}; train again with --resume"
            )
        for operation in journal.operations[self._number - journal.base :]:
            self._answer = self._apply(own_arrays(self._fetch(operation)))
            self._number += 1
            if self._number % COMMIT_EVERY == 0:
                save_commit(
                    Commit(self._number, self._batch.local, self._batch.previous, self._answer), self._folder / COMMIT
                )

    def _apply(self, operation: Operation) -> SummaryStatistics | None:
        if operation.state is not None:
            return self._batch.step(operation.state)
        if operation.name == "clear_free":
            return self._batch.clear_free()
        return self._batch.restore()


def own_arrays(record: Any) -> Any:
    """Return the record with copies of its arrays.

    Arrays from a cluster's object store are read-only, a type for which kernels would be compiled again, and become
    invalid when the store closes.
    """
    if isinstance(record, np.ndarray):
        return cast(Array, record).copy()
    if isinstance(record, tuple):
        fields = cast(tuple[Any, ...], record)
        return type(fields)(*map(own_arrays, fields))
    return record
