"""A fit that stops after any sweep and resumes from its checkpoint equals an uninterrupted one to the bit."""

import signal
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagsight.engine.checkpoint import FORMAT, FitCheckpoint
from tagsight.engine.devices import ComputeTarget
from tagsight.engine.fit import FitSpec, fit_shards, fit_stored_shards
from tagsight.engine.local.shard_file import StoredShards, save_shard
from tagsight.errors import StoppedError
from tagsight.model.fields import correlate_tags
from tagsight.model.fit import FIRST, LAST, Fit, FitProgress, Loop
from tagsight.model.layout import Shard, lay_out_parts
from tagsight.model.local_step import BLOCK, add_squares
from tagsight.model.settings import NOISES, Settings, plan_sticks
from tagsight.runtime.interrupts import Stop
from tagsight.storage.records import load_record, save_record
from tagsight.types import Floats
from tests.engine.training import FACTORS, draw_photos

PHOTOS = draw_photos(3 * BLOCK + 7, D=8, noise=0.5, seed=5)
SETTINGS = Settings(FACTORS)
Learn = Callable[[FitSpec, FitCheckpoint | None, Path], Fit]


def make_spec(loop: Loop, start: str = "random", noise: str = "isotropic") -> FitSpec:
    settings = SETTINGS._replace(noise=noise)
    return FitSpec(PHOTOS.X.shape[1], settings, loop, correlate_tags(PHOTOS.tags, FACTORS.free), start, 0)


def cut(n_parts: int, noise: str = "isotropic") -> list[Shard]:
    layouts = lay_out_parts(PHOTOS.groups, PHOTOS.allowed, PHOTOS.edges, plan_sticks(SETTINGS), n_parts)
    return [Shard(PHOTOS.X, layout, add_squares(PHOTOS.X, layout, noise=noise)) for layout in layouts]


def store_blocks(folder: Path, noise: str) -> tuple[StoredShards, float | Floats]:
    """Shards of one block each, the last of fewer photos, and the square of all."""
    square: float | Floats = 0.0
    folders: list[Path] = []
    for first in range(0, len(PHOTOS.tags), BLOCK):
        rows = np.flatnonzero((PHOTOS.groups >= first) & (PHOTOS.groups < first + BLOCK))
        mine = np.isin(PHOTOS.edges.pairs[:, 0], rows)
        pairs = PHOTOS.edges.pairs[mine] - rows[0]
        allowed = PHOTOS.allowed[first : first + BLOCK]
        edges = PHOTOS.edges._replace(pairs=pairs, weight=PHOTOS.edges.weight[mine])
        (layout,) = lay_out_parts(PHOTOS.groups[rows] - first, allowed, edges, plan_sticks(SETTINGS), 1)
        X = PHOTOS.X[rows]
        square = add_squares(X, layout, square, noise=noise)
        folders.append(folder / str(first))
        save_shard(Shard(X, layout, add_squares(X, layout, noise=noise)), folders[-1])
    return StoredShards(folders), square


def learn_in_memory(spec: FitSpec, checkpoint: FitCheckpoint | None, folder: Path) -> Fit:
    return fit_shards(cut(1, spec.settings.noise), spec, ComputeTarget(n_workers=1), checkpoint)[0]


def learn_in_batches(spec: FitSpec, checkpoint: FitCheckpoint | None, folder: Path) -> Fit:
    return fit_shards(cut(3, spec.settings.noise), spec, ComputeTarget(n_workers=1), checkpoint)[0]


def learn_on_disk(spec: FitSpec, checkpoint: FitCheckpoint | None, folder: Path) -> Fit:
    shards, square = store_blocks(folder / "shards", spec.settings.noise)
    return fit_stored_shards(shards, square, folder / "local", spec, n_threads=1, checkpoint=checkpoint)


def to_bytes(fit: Fit, folder: Path) -> bytes:
    save_record(fit, folder / "fit", FORMAT)
    return (folder / "fit").read_bytes()


@pytest.fixture(scope="module")
def positions() -> list[FitProgress]:
    seen: list[FitProgress] = []
    fit_shards(cut(1), make_spec(Loop(120, 1e-5, on_progress=seen.append)), ComputeTarget(n_workers=1))
    return seen


def test_the_case_has_all_kinds_of_stages(positions: list[FitProgress]) -> None:
    """Otherwise the tests below would not cover an accepted trial, a rejected trial, and learning M afterwards."""
    ends = [(here, then) for here, then in pairwise(positions) if then.stage > here.stage]
    assert [then.stage for _, then in ends] == list(range(FIRST + 1, LAST + 1))
    assert [then.best is not None and then.best.state is here.state for here, then in ends] == [True, True, False]
    first_bound = ends[0][0].sweeps[-1].bound.total
    assert all(p.first_bound == first_bound for p in positions if p.stage > FIRST)  # decides on the last stage


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("learner", [learn_in_memory, learn_in_batches, learn_on_disk])
def test_a_fit_stopped_after_any_sweep_resumes_to_the_same_bits(learner: Learn, tmp_path: Path, noise: str) -> None:
    loop = Loop(120, 1e-5)
    whole = to_bytes(learner(make_spec(loop, noise=noise), None, tmp_path / "a"), tmp_path)
    times, total = 0, 1
    while True:
        stop = Stop()
        checkpoint = FitCheckpoint(tmp_path / "c", stop, every=3)
        reported: list[int] = []

        def interrupt(position_number: int, stop: Stop = stop, reported: list[int] = reported) -> None:
            reported.append(position_number)
            if len(reported) == 4:
                stop.receive(signal.SIGTERM)

        watched = loop._replace(on_sweep=lambda sweep, report=interrupt: report(sweep.number))
        spec = make_spec(watched, noise=noise)
        try:
            result = learner(spec, checkpoint, tmp_path / "b")
            break
        except StoppedError:
            assert reported == list(range(total, total + 4))  # no sweep is repeated or missing
            times, total = times + 1, total + 4
    assert times >= 5
    assert to_bytes(result, tmp_path) == whole
    done = FitCheckpoint(tmp_path / "c", Stop()).load_fit()
    assert done is not None
    assert to_bytes(done, tmp_path) == whole
    assert [place.name for place in (tmp_path / "c").iterdir()] == ["done.safetensors"]


def test_killed_between_checkpoints_it_repeats_some_sweeps(tmp_path: Path) -> None:
    loop = Loop(120, 1e-5)
    whole = to_bytes(learn_in_memory(make_spec(loop), None, tmp_path), tmp_path)
    for fatal in (3, 7, 16, 33):

        class KilledError(Exception):
            pass

        def die(sweep: object, fatal: int = fatal, error: type[Exception] = KilledError) -> None:
            if getattr(sweep, "number", 0) == fatal:
                raise error

        with pytest.raises(KilledError):
            learn_in_memory(make_spec(loop._replace(on_sweep=die)), FitCheckpoint(tmp_path / "c", Stop()), tmp_path)
    position = FitCheckpoint(tmp_path / "c", Stop()).load_progress()
    assert position is not None
    assert position.n_run == 30
    last = learn_in_memory(make_spec(loop), FitCheckpoint(tmp_path / "c", Stop()), tmp_path)
    assert to_bytes(last, tmp_path) == whole


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "noise"), [("tags", "isotropic"), ("tags", "full"), ("kmeans", "full"), ("random", "isotropic")]
)
def test_shards_on_disk_give_the_bits_of_one_in_memory(tmp_path: Path, start: str, noise: str) -> None:
    spec = make_spec(Loop(120, 1e-5), start, noise)
    assert to_bytes(learn_on_disk(spec, None, tmp_path / "a"), tmp_path) == to_bytes(
        learn_in_memory(spec, None, tmp_path / "b"), tmp_path
    )
    assert len(list((tmp_path / "a/local").iterdir())) in (4, 8)  # the current posterior, and perhaps the previous one


def test_progress_is_loaded_as_it_was_saved(positions: list[FitProgress], tmp_path: Path) -> None:
    for position in (positions[0], next(p for p in positions if p.on_trial), positions[-1]):
        save_record(position, tmp_path / "a", FORMAT)
        back = load_record(FitProgress, tmp_path / "a", FORMAT)
        save_record(back, tmp_path / "b", FORMAT)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        assert_same(back, position)


def assert_same(a: Any, b: Any) -> None:
    if isinstance(a, tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    else:
        assert np.array_equal(np.asarray(a), np.asarray(b))
        assert np.shape(a) == np.shape(b)
