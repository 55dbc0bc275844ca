"""Batches with a global step after each converge to the result of one batch, and the loop reports every sweep."""

import numpy as np
import pytest

from tagsight.engine.local.threads import ThreadBatch
from tagsight.model.bound import evaluate_bound
from tagsight.model.fit import Loop, run_sweeps
from tagsight.model.settings import Settings
from tagsight.model.state import Globals, Local, SummaryStatistics
from tagsight.types import Floats
from tests.engine.training import FACTORS, Trained, draw_photos, make_shards, train
from tests.oracles import is_rising

PHOTOS = draw_photos(90, D=30, noise=1.0)  # so separable that all schedules converge to one optimum
SETTINGS = Settings(FACTORS, learn_affinity=False)


@pytest.fixture(scope="module")
def whole() -> Trained:
    return train(PHOTOS, SETTINGS, max_sweeps=300)


@pytest.mark.parametrize("n_batches", [2, 5])
def test_batches_reach_the_bound_of_all_photos_at_once(whole: Trained, n_batches: int):
    batched = train(PHOTOS, SETTINGS, n_shards=n_batches, max_sweeps=300)
    assert batched.fit.converged
    assert batched.fit.bound == pytest.approx(whole.fit.bound, rel=1e-4)
    assert np.mean((batched.nu > 0.5) == (whole.nu > 0.5)) > 0.99


def test_affinity_is_not_learned_from_photos_before_their_first_sweep():
    settings = Settings(FACTORS, centred=True)
    used: list[Floats] = []

    class Spy(ThreadBatch):
        def step(self, state: Globals) -> SummaryStatistics:
            used.append(state.affinity)
            return super().step(state)

    def watch(parts: list[ThreadBatch]) -> list[Spy]:
        return [Spy(part.shard, part.local, settings, map) for part in parts]

    train(PHOTOS, settings, n_shards=3, max_sweeps=2, combine=watch)
    assert [bool(np.any(M != 0)) for M in used] == [False] * 3 + [True] * 3


def test_batches_stay_at_the_optimum_of_all_photos():
    whole = train(PHOTOS, SETTINGS, max_sweeps=1000, tol=1e-13)
    local, batches, photo, entry = whole.locals[0], [], 0, 0
    for shard in make_shards(PHOTOS, SETTINGS, 4):
        photos = slice(photo, photo := photo + shard.layout.n_photos)
        entries = slice(entry, entry := entry + int(shard.layout.assign_start[-1]))
        mine = Local(local.assign[entries], local.sticks[photos], local.order[photos])
        batches.append(ThreadBatch(shard, mine, SETTINGS, map))
    summaries = [batch.summarise(whole.fit.state) for batch in batches]
    loop = Loop(max_sweeps=5, tol=0.0, on_sweep=lambda sweep: None)
    stayed = run_sweeps(batches, summaries, whole.fit.state, SETTINGS, loop, n_run=0)
    assert stayed.bound == pytest.approx(whole.fit.bound, rel=1e-9)
    assert stayed.state.appearance.mean == pytest.approx(whole.fit.state.appearance.mean, abs=1e-5)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("n_batches", [1, 4])
def test_the_reported_bound_rises_through_trials(n_batches: int, centred: bool):
    trained = train(PHOTOS, SETTINGS._replace(centred=centred), n_shards=n_batches, start="random", max_sweeps=300)
    assert is_rising([sweep.bound.total for sweep in trained.fit.sweeps])
    assert len(trained.reported) == trained.fit.n_run > len(trained.fit.sweeps)


def test_the_fit_is_consistent_with_the_final_posterior(whole: Trained):
    """Also after a rejected proposal, when the posterior of the reported summary must be restored."""
    assert whole.fit.summary.count == pytest.approx(whole.nu.sum(axis=0))
    assert whole.fit.summary.cross == pytest.approx(whole.nu.T @ PHOTOS.X)
    bound = evaluate_bound(whole.fit.summary, whole.fit.state, SETTINGS)
    assert bound.total == pytest.approx(whole.fit.bound, rel=1e-12)


def test_sweeps_stop_at_the_limit_without_convergence():
    trained = train(PHOTOS, SETTINGS, max_sweeps=3)
    assert trained.fit.n_run == 3
    assert not trained.fit.converged
