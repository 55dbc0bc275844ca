"""Shards merged into one batch give the result of one shard."""

import numpy as np
import pytest

from tagsight.engine.local.threads import ThreadBatch
from tagsight.model.layout import scatter_assign
from tagsight.model.sampling import draw_rows
from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.start import STARTS, blank_globals, start_local
from tests.engine.merged import MergedBatch
from tests.engine.training import FACTORS, Trained, draw_photos, make_shards, train

PHOTOS = draw_photos(90)
SETTINGS = Settings(FACTORS)


def start_parts(n_shards: int) -> list[ThreadBatch]:
    shards = make_shards(PHOTOS, SETTINGS, n_shards)
    fill = STARTS["random"](shards, FACTORS, 0)
    plan = plan_sticks(SETTINGS)
    return [ThreadBatch(shard, start_local(shard, fill, np.ones(3), plan), SETTINGS, map) for shard in shards]


@pytest.fixture(scope="module", params=STARTS)
def one_shard(request: pytest.FixtureRequest) -> tuple[str, Trained]:
    return request.param, train(PHOTOS, SETTINGS, start=request.param)


@pytest.mark.parametrize("n_shards", [1, 3, 7])
def test_the_posterior_is_that_of_one_shard(one_shard: tuple[str, Trained], n_shards: int):
    start, one = one_shard
    many = train(PHOTOS, SETTINGS, start=start, n_shards=n_shards, combine=lambda parts: [MergedBatch(parts)])
    assert np.abs(many.nu - one.nu).max() <= 1e-5
    assert np.abs(many.fit.state.appearance.mean - one.fit.state.appearance.mean).max() <= 1e-5
    assert many.fit.bound == pytest.approx(one.fit.bound, rel=1e-9)
    assert many.fit.n_run == one.fit.n_run


def test_summaries_and_samples_are_those_of_all_photos():
    whole, merged = start_parts(1)[0], MergedBatch(start_parts(4))
    state = blank_globals(SETTINGS, PHOTOS.X.shape[1])
    state.appearance.mean[:] = 0.3
    for ours, theirs in zip(merged.summarise(state), whole.summarise(state), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-10)
    for ours, theirs in zip(merged.step(state), whole.step(state), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-8)
    ours, theirs = merged.sample_residuals(state, 50, 1), whole.sample_residuals(state, 50, 1)
    assert np.array_equal(ours.keys, theirs.keys)
    assert ours.rows == pytest.approx(theirs.rows, abs=1e-9)


def test_residuals_lack_the_contribution_of_tagged_factors_only():
    part = start_parts(1)[0]
    state = blank_globals(SETTINGS, PHOTOS.X.shape[1])
    state.appearance.mean[:] = np.random.default_rng(0).standard_normal(state.appearance.mean.shape)
    nu = np.zeros((len(PHOTOS.X), FACTORS.total))
    scatter_assign(part.shard.layout, part.local.assign, np.arange(len(nu)), nu)
    residual = PHOTOS.X - nu[:, : FACTORS.tagged] @ state.appearance.mean[: FACTORS.tagged]
    rows = draw_rows(PHOTOS.X, np.arange(len(nu)), 40, 3).rows
    assert part.sample_residuals(state, 40, 3).rows == pytest.approx(residual[rows], abs=1e-12)


def test_every_part_is_cleared_and_restored():
    parts = start_parts(3)
    before = [part.local.assign for part in parts]
    merged = MergedBatch(parts)
    state = blank_globals(SETTINGS, PHOTOS.X.shape[1])
    count = merged.summarise(state).count
    merged.clear_free()
    cleared = merged.summarise(state).count
    assert np.all(cleared[FACTORS.tagged :] == 0)
    assert cleared[: FACTORS.tagged] == pytest.approx(count[: FACTORS.tagged])
    merged.restore()
    assert all(np.array_equal(part.local.assign, old) for part, old in zip(parts, before, strict=True))
