"""One worker of a fit: operations in the order of their numbers, each done once however often it is asked for."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from tagsight.engine.local_file import current_path, previous_path, save_local
from tagsight.engine.shard_file import load_shard, save_shard
from tagsight.engine.threads import ThreadBatch
from tagsight.errors import TagsightError
from tagsight.model.layout import Shard
from tagsight.model.sampling import Sample, merge_samples
from tagsight.model.settings import Settings
from tagsight.model.state import Globals, Local, Summary, merge
from tagsight.runtime.blas import one_blas_thread
from tagsight.storage.tensor_file import TRAIN_ANEW, load_tensors, save_tensors
from tagsight.types import Array

COMMIT_EVERY = 10  # operations; a worker that comes back repeats fewer

SHARD, COMMIT = "shard", "commit.safetensors"


class Operation(NamedTuple):
    """What changes a local posterior."""

    name: Literal["step", "clear_free", "restore"]
    state: Globals | None = None  # of a step


class Journal(NamedTuple):
    """The operations that a worker may have to repeat, the last of which is wanted."""

    base: int  # every worker has committed so many operations
    operations: Sequence[Any]  # what `fetch` makes Operations of

    @property
    def number(self) -> int:
        """Of the last operation."""
        return self.base + len(self.operations)


def prepare_worker(folder: Path, shard: Shard, local: Local, previous: Local | None = None) -> None:
    """Write what a worker begins with."""
    save_shard(shard, folder / SHARD)
    save_commit(Commit(0, local, previous or local, None), folder / COMMIT)


class ShardWorker:
    """A shard and its local posterior, from the folder that `prepare_worker` wrote or another worker left."""

    def __init__(self, folder: Path, settings: Settings, fetch: Callable[[Any], Operation]):
        self._folder = folder
        self._settings = settings
        self._fetch = fetch
        self._number, local, previous, self._answer = load_commit(folder / COMMIT)
        self._batch = ThreadBatch(load_shard(folder / SHARD), local, settings, map, previous)

    def perform(self, journal: Journal) -> Summary | None:
        """What the journal's last operation gives; those before it that are not done yet are done first."""
        self._reach(journal)
        return self._answer

    @one_blas_thread()
    def summarise(self, journal: Journal, state: Globals) -> Summary:
        """Summary of the posterior after the journal's operations."""
        self._reach(journal)
        return self._batch.summarise(own_arrays(state))

    @one_blas_thread()
    def sample_residuals(self, journal: Journal, state: Globals, size: int, seed: int) -> Sample:
        """See `model.fit.FitBatch`."""
        self._reach(journal)
        return self._batch.sample_residuals(own_arrays(state), size, seed)

    def local(self, journal: Journal) -> Local:
        """The posterior after the journal's operations."""
        self._reach(journal)
        return self._batch.local

    def save(self, journal: Journal, folder: Path, part: int, with_previous: bool) -> None:
        """Write the posterior after the journal's operations as that of a part (see `storage.local_file`)."""
        self._reach(journal)
        save_local(self._batch.local, current_path(folder, part))
        if with_previous:
            save_local(self._batch.previous, previous_path(folder, part))

    def merge(self, a: Summary, b: Summary) -> Summary:
        """See `model.state.merge`."""
        return merge(a, b)

    def merge_samples(self, a: Sample, b: Sample, size: int) -> Sample:
        """See `model.sampling.merge_samples`."""
        return merge_samples([a, b], size)

    @one_blas_thread()
    def _reach(self, journal: Journal) -> None:
        if not journal.base <= self._number <= journal.number:
            raise TagsightError(
                f"a worker stands at operation {self._number} and is asked for {journal.base} to {journal.number}"
            )
        for operation in journal.operations[self._number - journal.base :]:
            self._answer = self._apply(own_arrays(self._fetch(operation)))
            self._number += 1
            if self._number % COMMIT_EVERY == 0:
                save_commit(
                    Commit(self._number, self._batch.local, self._batch.previous, self._answer), self._folder / COMMIT
                )

    def _apply(self, operation: Operation) -> Summary | None:
        if operation.state is not None:
            return self._batch.step(operation.state)
        if operation.name == "clear_free":
            return self._batch.clear_free()
        return self._batch.restore()


def own_arrays(record: Any) -> Any:
    """The same record with arrays of its own: those from a cluster's object store cannot be written to.

    For a compiled function they would be of another type, to be compiled for anew, and they vanish with the store.
    """
    if isinstance(record, np.ndarray):
        return record.copy()
    if isinstance(record, tuple):
        return type(record)(*map(own_arrays, record))
    return record


class Commit(NamedTuple):
    """A worker after so many operations."""

    number: int
    local: Local
    previous: Local  # what `restore` goes back to
    answer: Summary | None  # what the last operation gave


def save_commit(commit: Commit, path: Path) -> None:
    """Write the commit; `path` holds the old file or the new one at any time."""
    arrays: dict[str, Array] = {"number": np.array(commit.number)}
    for name in ("local", "previous", "answer"):
        record = getattr(commit, name)
        if record is not None and not (name == "previous" and record is commit.local):
            arrays |= {f"{name}.{field}": np.asarray(value) for field, value in record._asdict().items()}
    save_tensors(path, {}, arrays)


def load_commit(path: Path) -> Commit:
    """The commit that `save_commit` wrote."""
    _, arrays = load_tensors(path, f"{TRAIN_ANEW}, and every machine must see its folder")
    local = Local(*(arrays[f"local.{field}"] for field in Local._fields))
    previous = answer = None
    if "previous.assign" in arrays:
        previous = Local(*(arrays[f"previous.{field}"] for field in Local._fields))
    if "answer.count" in arrays:
        values = [arrays[f"answer.{field}"] for field in Summary._fields]
        answer = Summary._make(float(value) if value.ndim == 0 else value for value in values)
    return Commit(int(arrays["number"]), local, previous or local, answer)
