"""Photos spread over the actors of a Ray cluster."""

import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import ray
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from tagsight.engine.local_file import current_path
from tagsight.engine.parts import cut_local, cut_shard
from tagsight.engine.ray.cluster import count_processors, fetch, join_cluster
from tagsight.engine.ray.worker import COMMIT_EVERY, Journal, Operation, ShardWorker, own_arrays, prepare_worker
from tagsight.errors import InputError
from tagsight.model.layout import Shard
from tagsight.model.local_step import BLOCK
from tagsight.model.sampling import Sample
from tagsight.model.settings import Settings
from tagsight.model.state import Globals, Local, Summary, join_locals
from tagsight.runtime.interrupts import POLL, check_stop
from tagsight.storage.files import locate_cache
from tagsight.storage.locks import hold_lock

PATIENCE = 120  # seconds in which processors of the cluster must come free
_NAME = re.compile(r"[0-9a-f]{16}")  # of a folder that `open_ray_batches` makes


@contextmanager
def open_ray_batches(n_actors: int | None) -> Iterator[Callable[..., "RayBatch"]]:
    """What makes a batch of a shard and its local posterior.

    When the block ends, the actors and their files go; what is left of a batch is its local posterior.
    """
    root = locate_cache().resolve() / "ray"
    folder = root / secrets.token_hex(8)
    made: list[RayBatch] = []

    def make(shard: Shard, local: Local, settings: Settings, *, previous: Local | None = None) -> RayBatch:
        made.append(RayBatch(shard, local, settings, folder / str(len(made)), n_actors, previous))
        return made[-1]

    _remove_abandoned(root)
    with join_cluster(), hold_lock(_lock_of(folder), wait=False, remove=True):
        try:
            yield make
            for batch in made:
                batch.collect_posterior()
        finally:
            for batch in made:
                batch.close()
            shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(root: Path) -> None:
    """Remove what a process that was killed left: its lock went with it."""
    for folder in [place for place in root.glob("*") if place.is_dir() and _NAME.fullmatch(place.name)]:
        with suppress(InputError), hold_lock(_lock_of(folder), wait=False, remove=True):
            shutil.rmtree(folder)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


class RayBatch:
    """A shard, cut for `n_actors` actors that keep their parts under `folder` (see `engine.devices.LocalBatch`).

    `folder` is one that every machine of the cluster sees. Without `n_actors` there is one for every processor, as far
    as there are photos enough.
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
        n_actors = min(n_actors, n_photos) if n_actors else min(count_processors(), -(-n_photos // BLOCK))
        self._home: Local | None = None
        self._journal = Journal(0, [])
        locals_, previous_parts = (cut_local(one, shard.layout, n_actors) for one in (local, previous or local))
        for number, part in enumerate(cut_shard(shard, n_actors)):
            prepare_worker(folder / str(number), part, locals_[number], previous_parts[number] if previous else None)
        self._place = _reserve(n_actors)
        self.actors = [_start(self._place, number, folder / str(number), settings) for number in range(n_actors)]

    @property
    def local(self) -> Local:
        """The local posterior, in this process's memory."""
        if self._home is not None:
            return self._home
        return join_locals(own_arrays(fetch([actor.local.remote(self._journal) for actor in self.actors])))

    def summarise(self, state: Globals) -> Summary:
        """Return the summary of the current local posterior."""
        shared = ray.put(state)
        return self._merge([actor.summarise.remote(self._journal, shared) for actor in self.actors])

    def step(self, state: Globals) -> Summary:
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
        """Let every actor write the local posterior of its part, and the one `restore` goes back to if it is needed."""
        place = folder.resolve()
        fetch([actor.save.remote(self._journal, place, part, with_previous) for part, actor in enumerate(self.actors)])
        missing = [part for part in range(len(self.actors)) if not current_path(place, part).exists()]
        if missing:
            raise InputError(
                f"what actor {missing[0]} wrote to {str(place)!r} is not there: put the model where every machine of "
                "the cluster sees the same folder"
            )

    def collect_posterior(self) -> None:
        """Keep the local posterior in this process, for when the actors are gone."""
        self._home = self.local

    def close(self) -> None:
        """Let the actors go."""
        for actor in self.actors:
            ray.kill(actor)
        remove_placement_group(self._place)

    def _perform(self, operation: Operation, collect: Callable[[Sequence[Any]], Any]) -> Any:
        """Let every actor do the operation; what `collect` makes of their answers."""
        base, operations = self._journal
        self._journal = Journal(base, [*operations, ray.put(operation)])
        result = collect([actor.perform.remote(self._journal) for actor in self.actors])
        if self._journal.number % COMMIT_EVERY == 0:
            self._journal = Journal(self._journal.number, [])
        return result

    def _merge(self, summaries: Sequence[Any]) -> Summary:
        return own_arrays(fetch(self._reduce(summaries, lambda actor, a, b: actor.merge.remote(a, b))))

    def _reduce(self, references: Sequence[Any], combine: Callable[[Any, Any, Any], Any]) -> Any:
        """One reference for all, by pairs of pairs; the first actor of a pair does the work."""
        held = list(zip(self.actors, references, strict=True))
        while len(held) > 1:
            pairs = zip(held[::2], held[1::2], strict=False)
            joined = [(actor, combine(actor, a, b)) for (actor, a), (_, b) in pairs]
            held = joined + held[2 * len(joined) :]
        return held[0][1]


def _reserve(n_actors: int) -> PlacementGroup:
    """A place for every actor, all of them or none; with more actors than processors each has its share of one."""
    share = min(1.0, count_processors() / n_actors)
    place = placement_group([{"CPU": share}] * n_actors, strategy="SPREAD")
    try:
        came_free = _await_place(place)
    except BaseException:
        remove_placement_group(place)
        raise
    if not came_free:
        remove_placement_group(place)
        raise InputError(
            f"the processors of the Ray cluster that {n_actors} actors need did not come free in {PATIENCE} s: "
            "try again later, or take fewer"
        )
    return place


def _await_place(place: PlacementGroup) -> bool:
    """Whether the processors came free in time."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        check_stop()
        if place.wait(POLL):
            return True
    return False


def _start(place: PlacementGroup, number: int, folder: Path, settings: Settings) -> Any:
    start = ray.remote(ShardWorker).options(
        num_cpus=place.bundle_specs[number]["CPU"],
        max_restarts=-1,
        max_task_retries=-1,
        scheduling_strategy=PlacementGroupSchedulingStrategy(place, number),
    )
    return start.remote(folder, settings, ray.get)
