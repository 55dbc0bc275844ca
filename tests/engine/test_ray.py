"""Actors of a Ray cluster fit the same model as this process, even if they are killed during the fit."""

import os
import random
import signal
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagsight import StackedIBP
from tagsight.engine.checkpoint import FitCheckpoint
from tagsight.engine.devices import ComputeTarget
from tagsight.engine.fit import FitSpec, fit_shards
from tagsight.engine.local.threads import ThreadBatch
from tagsight.engine.ray.cluster import fetch, join_cluster, map_on_cluster
from tagsight.errors import InputError, StoppedError, TagsightError
from tagsight.model.fields import correlate_tags
from tagsight.model.fit import FitProgress, Loop, Sweep
from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.start import STARTS, start_local
from tagsight.runtime.interrupts import Stop
from tests.engine.training import FACTORS, Trained, draw_photos, make_shards, train
from tests.ray_cluster import open_cluster

ray: Any = pytest.importorskip("ray", reason="Ray is not installed (tagsight[ray])")
from tagsight.engine.ray import batch as batch_module  # noqa: E402
from tagsight.engine.ray.batch import RayBatch  # noqa: E402

# Ray leaves sockets and log files to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore:Tip. In future versions of Ray:FutureWarning"
)

PHOTOS = draw_photos(60, D=30, noise=1.0)
SETTINGS = Settings(FACTORS)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with open_cluster():
        yield


@pytest.fixture
def batches(cluster: None) -> Iterator[list[RayBatch]]:
    """Batches that a test creates, to be closed."""
    made: list[RayBatch] = []
    yield made
    for batch in made:
        batch.close()


def move(batches: list[RayBatch], folder: Path, n_actors: int, parts: list[ThreadBatch]) -> list[RayBatch]:
    (part,) = parts
    batches.append(RayBatch(part.shard, part.local, SETTINGS, folder, n_actors))
    return batches[-1:]


@pytest.fixture(scope="module")
def undisturbed() -> Trained:
    return train(PHOTOS, SETTINGS)


@pytest.mark.parametrize("n_actors", [1, 2, 3, 4])
def test_the_model_is_that_of_this_process(
    undisturbed: Trained, batches: list[RayBatch], tmp_path: Path, n_actors: int
):
    trained = train(PHOTOS, SETTINGS, combine=partial(move, batches, tmp_path, n_actors))
    assert len(batches[0].actors) == n_actors
    assert trained.fit.n_run == undisturbed.fit.n_run > len(undisturbed.fit.sweeps)  # a trial was rejected
    assert trained.fit.bound == pytest.approx(undisturbed.fit.bound, rel=1e-9)
    ours, theirs = batches[0].local, undisturbed.locals[0]
    assert ours.assign == pytest.approx(theirs.assign, abs=1e-6)
    assert ours.sticks == pytest.approx(theirs.sticks, rel=1e-6)
    assert np.array_equal(ours.order, theirs.order)
    mean = undisturbed.fit.state.appearance.mean
    assert trained.fit.state.appearance.mean == pytest.approx(mean, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("choices", [{}, {"exclusive": True, "shrinkage": 2.0, "attribute_shrinkage": 5.0}])
def test_a_full_noise_covariance_is_that_of_this_process(
    batches: list[RayBatch], tmp_path: Path, choices: dict[str, Any]
):
    settings = SETTINGS._replace(noise="full", **choices)

    def spread(parts: list[ThreadBatch]) -> list[RayBatch]:
        batches.append(RayBatch(parts[0].shard, parts[0].local, settings, tmp_path, 2))
        return batches[-1:]

    ours, theirs = (train(PHOTOS, settings, combine=combine, max_sweeps=15, tol=0.0) for combine in (spread, list))
    assert ours.fit.bound == pytest.approx(theirs.fit.bound, rel=1e-9)
    assert ours.fit.state.inverse_shape == pytest.approx(theirs.fit.state.inverse_shape, rel=1e-6, abs=1e-9)
    assert batches[0].local.assign == pytest.approx(theirs.locals[0].assign, abs=1e-6)


class Killer:
    """Kills an actor of a batch shortly after each of some sweeps."""

    def __init__(self, batches: list[RayBatch], seed: int):
        self._random = random.Random(seed)
        self._sweeps = set(self._random.sample(range(1, 19), 5))
        self._batches = batches
        self._threads: list[threading.Timer] = []
        self.killed: list[int] = []

    def kill_after(self, sweep: Any) -> None:
        if sweep.number in self._sweeps:
            actor = self._random.choice(self._batches[0].actors)
            pid = fetch(actor.__ray_call__.remote(lambda worker: os.getpid()))
            self._threads.append(threading.Timer(self._random.uniform(0, 0.02), self._kill, [pid]))
            self._threads[-1].start()

    def _kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        self.killed.append(pid)

    def wait(self) -> None:
        for thread in self._threads:
            thread.join()


@pytest.mark.slow
def test_actors_killed_five_times_leave_the_same_model(batches: list[RayBatch], tmp_path: Path):
    def fit(folder: Path, on_sweep: Any) -> Trained:
        combine = partial(move, batches, folder, 2)
        return train(PHOTOS, SETTINGS, combine=combine, max_sweeps=20, tol=0.0, on_sweep=on_sweep)

    one = fit(tmp_path / "undisturbed", lambda sweep: None)
    local = batches[0].local
    batches.pop().close()  # there is room for two actors at a time
    killer = Killer(batches, seed=0)
    other = fit(tmp_path / "disturbed", killer.kill_after)
    killer.wait()
    assert len(killer.killed) == 5
    assert len(set(killer.killed)) > 2  # others came after them
    assert [sweep.bound for sweep in other.fit.sweeps] == [sweep.bound for sweep in one.fit.sweeps]
    for ours, theirs in zip(batches[0].local, local, strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(other.fit.state.appearance.mean, one.fit.state.appearance.mean)


def test_the_estimator_selects_it_by_name(cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TAGSIGHT_CACHE", str(tmp_path))
    (tmp_path / "ray/0123456789abcdef").mkdir(parents=True)
    data = {"groups": PHOTOS.groups, "edges": PHOTOS.edges.pairs}
    ours, theirs = (
        StackedIBP(3, 3, 2, max_sweeps=60, tol=1e-5, engine=engine, n_threads=2).fit(PHOTOS.X, PHOTOS.tags, **data)
        for engine in ("ray", "local")
    )
    assert ours.bound_ == pytest.approx(theirs.bound_, rel=1e-9)
    assert ours.assign_ == pytest.approx(theirs.assign_, abs=1e-6)
    assert not list((tmp_path / "ray").iterdir())


@pytest.mark.parametrize("on_trial", [False, True])
@pytest.mark.parametrize("engines", [("ray", "local"), ("local", "ray")], ids="-".join)
def test_one_engine_resumes_from_the_checkpoint_of_the_other(
    cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engines: tuple[str, str], on_trial: bool
):
    monkeypatch.setenv("TAGSIGHT_CACHE", str(tmp_path))
    (shard,) = make_shards(PHOTOS, SETTINGS, 1)
    spec = FitSpec(PHOTOS.X.shape[1], SETTINGS, Loop(60, 1e-6), correlate_tags(PHOTOS.tags, FACTORS.free))
    positions: list[FitProgress] = []
    watched = spec._replace(loop=Loop(60, 1e-6, on_progress=positions.append))
    whole, (expected,) = fit_shards([shard], watched, ComputeTarget(n_workers=1))
    ends = {at.stage: at.n_run for at in positions}
    given_up = {stage for stage, end in ends.items() if end not in {sweep.number for sweep in whole.sweeps}}
    assert given_up  # otherwise nothing would be restored
    last = max(at.n_run for at in positions if (at.stage in given_up) == on_trial and at.n_run < ends[at.stage])
    stop = Stop()

    def stop_there(sweep: Sweep) -> None:
        if sweep.number == last:
            stop.signal = signal.SIGTERM

    stopped = spec._replace(loop=Loop(60, 1e-6, on_sweep=stop_there))
    kept = tmp_path / "kept"
    with pytest.raises(StoppedError):
        fit_shards([shard], stopped, ComputeTarget("cpu", engines[0], 2), FitCheckpoint(kept, stop))
    fit, (batch,) = fit_shards([shard], spec, ComputeTarget("cpu", engines[1], 2), FitCheckpoint(kept, Stop()))
    assert fit.n_run == whole.n_run
    assert fit.bound == pytest.approx(whole.bound, rel=1e-9)
    assert fit.state.appearance.mean == pytest.approx(whole.state.appearance.mean, abs=1e-6)
    assert batch.local.assign == pytest.approx(expected.local.assign, abs=1e-6)


def test_a_folder_that_is_not_shared_is_an_error(
    batches: list[RayBatch], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(batch_module, "prepare_worker", lambda *_: None)
    (shard,) = make_shards(PHOTOS, SETTINGS, 1)
    plan = plan_sticks(SETTINGS)
    local = start_local(shard, STARTS["tags"]([shard], FACTORS, 0), np.ones(plan.n_sequences), plan)
    batches.append(RayBatch(shard, local, SETTINGS, tmp_path, 1))
    with pytest.raises(TagsightError, match=r"^the Ray cluster failed: .*every machine must see its folder$"):
        batches[0].local  # noqa: B018


def test_a_map_keeps_the_order_and_the_errors(cluster: None):
    assert list(map_on_cluster(abs, range(-20, 0))) == list(range(20, 0, -1))
    with pytest.raises(InputError, match=r"^no -3$"):
        list(map_on_cluster(refuse, [1, -3]))


def refuse(number: int) -> int:
    if number < 0:
        raise InputError(f"no {number}")
    return number


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:x", "auto", "ray://127.0.0.1:1"])
def test_a_missing_cluster_is_an_error(address: str, monkeypatch: pytest.MonkeyPatch):
    if ray.is_initialized():
        ray.shutdown()
    # Others may run a cluster on this machine, which "auto" would join.
    monkeypatch.setattr("ray._private.services.find_gcs_addresses", set)
    monkeypatch.setattr("ray._private.utils.read_ray_address", lambda *_: None)
    with pytest.raises(InputError, match=f"no Ray cluster could be joined at '{address}'"), join_cluster(address):
        pass


@pytest.mark.slow
def test_ray_leaves_the_handlers_of_signals_as_they_were():
    """Ray's handler of SIGTERM raises while Ray starts, and its compiled part removes all handlers at the end."""
    if ray.is_initialized():
        ray.shutdown()
    handle = lambda number, frame: None  # noqa: E731
    before = signal.signal(signal.SIGTERM, handle)
    try:
        for _ in range(2):
            with join_cluster():
                assert signal.getsignal(signal.SIGTERM) is handle
                assert catches(signal.SIGTERM)
            assert signal.getsignal(signal.SIGTERM) is handle
            assert catches(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


def catches(number: signal.Signals) -> bool:
    """Return whether the operating system, not only Python, has a handler."""
    (caught,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("SigCgt:")]
    return bool(int(caught.split()[1], 16) & 1 << (number - 1))
