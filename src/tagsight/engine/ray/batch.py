"""A batch whose photos are divided among the actors of a Ray cluster."""

import re
import secrets
import shutil
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import ray
from ray.actor import ActorHandle
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from tagsight.engine.local.posterior_file import current_path
from tagsight.engine.ray.cluster import count_cores, fetch, join_cluster
from tagsight.engine.ray.parts import cut_local, cut_shard, prepare_worker
from tagsight.engine.ray.worker import COMMIT_EVERY, Journal, Operation, ShardWorker, own_arrays
from tagsight.errors import InputError
from tagsight.model.layout import Shard
from tagsight.model.local_step import BLOCK
from tagsight.model.sampling import Sample
from tagsight.model.settings import Settings
from tagsight.model.state import Globals, Local, SummaryStatistics, join_locals
from tagsight.runtime.interrupts import POLL, check_stop
from tagsight.storage.files import locate_cache
from tagsight.storage.locks import hold_lock

if TYPE_CHECKING:
    from ray import ObjectRef

R = TypeVar("R")

CORE_TIMEOUT = 120  # seconds to wait for free cores of the cluster
_NAME = re.compile(r"[0-9a-f]{16}")  # name of a folder created by `open_ray_batches`


@contextmanager
def open_ray_batches(n_actors: int | None) -> Generator[Callable[..., "RayBatch"], None, None]:
    """Yield the constructor of batches on the cluster (see `engine.devices.MakeBatch`).

    When the block ends, the actors stop and their files are removed; the batches keep their local posterior.
    """
    root = locate_cache().resolve() / "ray"
    folder = root / secrets.token_hex(8)
    batches: list[RayBatch] = []

    def make(shard: Shard, local: Local, settings: Settings, *, previous: Local | None = None) -> RayBatch:
        batches.append(RayBatch(shard, local, settings, folder / str(len(batches)), n_actors, previous))
        return batches[-1]

    _remove_abandoned(root)
    with join_cluster(), hold_lock(_lock_of(folder), wait=False, remove=True):
        try:
            yield make
            for batch in batches:
                batch.collect_posterior()
        finally:
            for batch in batches:
                batch.close()
            shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(root: Path) -> None:
    """Remove the folders of killed processes, which no longer hold their locks."""
    for folder in [place for place in root.glob("*") if place.is_dir() and _NAME.fullmatch(place.name)]:
        with suppress(InputError), hold_lock(_lock_of(folder), wait=False, remove=True):
            shutil.rmtree(folder)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


class RayBatch:
    """A shard divided among `n_actors` actors, which store their parts in `folder` (see `engine.devices.LocalBatch`).

    Every machine of the cluster must have access to `folder`. By default there is one actor per core, but no more than
    one per block of photos.
    """

    def __init__(
        self,
        shard: Shard,
        local: Local,
        settings: Settings,
        folder: Path,
        n_actors: int | None = None,
        previous: Local | None = None,
    ):
        self.shard = shard
        n_photos = shard.layout.n_photos
        n_actors = min(n_actors, n_photos) if n_actors else min(count_cores(), -(-n_photos // BLOCK))
        self._collected: Local | None = None
        self._journal = Journal(0, [])
        locals_, previous_parts = (cut_local(whole, shard.layout, n_actors) for whole in (local, previous or local))
        for number, part in enumerate(cut_shard(shard, n_actors)):
            prepare_worker(folder / str(number), part, locals_[number], previous_parts[number] if previous else None)
        self._group = _reserve_cores(n_actors)
        self.actors = [_start_actor(self._group, number, folder / str(number), settings) for number in range(n_actors)]

    @property
    def local(self) -> Local:
        """The local posterior, in this process's memory."""
        if self._collected is not None:
            return self._collected
        return join_locals(own_arrays(fetch([actor.local.remote(self._journal) for actor in self.actors])))

    def summarise(self, state: Globals) -> SummaryStatistics:
        """Return the summary of the current local posterior."""
        shared = ray.put(state)
        return self._merge([actor.summarise.remote(self._journal, shared) for actor in self.actors])

    def step(self, state: Globals) -> SummaryStatistics:
        """Update the local posterior and return its summary."""
        return self._perform(Operation("step", state), self._merge)

    def sample_residuals(self, state: Globals, size: int, seed: int) -> Sample:
        """Return a sample of regions minus the contribution of the tagged factors."""
        shared = ray.put(state)
        samples = [actor.sample_residuals.remote(self._journal, shared, size, seed) for actor in self.actors]
        return own_arrays(fetch(self._reduce(samples, lambda actor, a, b: actor.merge_samples.remote(a, b, size))))

    def clear_free(self) -> None:
        """Set nu of every free factor to 0, and keep the previous posterior for `restore`."""
        self._perform(Operation("clear_free"), fetch)

    def restore(self) -> None:
        """Return to the posterior before the last `clear_free`."""
        self._perform(Operation("restore"), fetch)

    def save(self, folder: Path, *, with_previous: bool) -> None:
        """Save the local posteriors of the parts and, if `with_previous`, those that `restore` returns to."""
        target = folder.resolve()
        fetch([actor.save.remote(self._journal, target, part, with_previous) for part, actor in enumerate(self.actors)])
        missing = [part for part in range(len(self.actors)) if not current_path(target, part).exists()]
        if missing:
            raise InputError(
                f"the file that actor {missing[0]} wrote to {str(target)!r} is missing: write the model to a folder "
                "that all machines of the cluster share"
            )

    def collect_posterior(self) -> None:
        """Copy the local posterior into this process."""
        self._collected = self.local

    def close(self) -> None:
        """Stop the actors and release their cores."""
        for actor in self.actors:
            ray.kill(actor)
        remove_placement_group(self._group)

    def _perform(self, operation: Operation, collect: "Callable[[list[ObjectRef[Any]]], R]") -> R:
        """Perform the operation on every actor, and return their results combined by `collect`."""
        base, operations = self._journal
        self._journal = Journal(base, [*operations, ray.put(operation)])
        result = collect([actor.perform.remote(self._journal) for actor in self.actors])
        if self._journal.number % COMMIT_EVERY == 0:
            self._journal = Journal(self._journal.number, [])
        return result

    def _merge(self, summaries: "Sequence[ObjectRef[SummaryStatistics]]") -> SummaryStatistics:
        return own_arrays(fetch(self._reduce(summaries, lambda actor, a, b: actor.merge.remote(a, b))))

    def _reduce(
        self,
        references: "Sequence[ObjectRef[R]]",
        combine: "Callable[[ActorHandle, ObjectRef[R], ObjectRef[R]], ObjectRef[R]]",
    ) -> "ObjectRef[R]":
        """Combine references pairwise until one is left; the first actor of a pair computes."""
        pending = list(zip(self.actors, references, strict=True))
        while len(pending) > 1:
            pairs = zip(pending[::2], pending[1::2], strict=False)
            joined = [(actor, combine(actor, a, b)) for (actor, a), (_, b) in pairs]
            pending = joined + pending[2 * len(joined) :]
        return pending[0][1]


def _reserve_cores(n_actors: int) -> PlacementGroup:
    """Reserve a core per actor, or an equal share of one if there are more actors than cores."""
    share = min(1.0, count_cores() / n_actors)
    group = placement_group([{"CPU": share}] * n_actors, strategy="SPREAD")
    try:
        reserved = _await_group(group)
    except BaseException:
        remove_placement_group(group)
        raise
    if not reserved:
        remove_placement_group(group)
        raise InputError(
            f"the Ray cluster had no free cores for {n_actors} actors within {CORE_TIMEOUT} s: try again later, or use "
            "fewer workers"
        )
    return group


def _await_group(group: PlacementGroup) -> bool:
    """Wait until the cores are reserved; return False after CORE_TIMEOUT seconds."""
    end = time.monotonic() + CORE_TIMEOUT
    while time.monotonic() < end:
        check_stop()
        if group.wait(POLL):
            return True
    return False


def _start_actor(group: PlacementGroup, number: int, folder: Path, settings: Settings) -> ActorHandle:
    start = ray.remote(ShardWorker).options(
        num_cpus=group.bundle_specs[number]["CPU"],
        max_restarts=-1,
        max_task_retries=-1,
        scheduling_strategy=PlacementGroupSchedulingStrategy(group, number),
    )
    return start.remote(folder, settings, ray.get)
