"""A sweep of nu is the mean-field update, one coordinate after another, in the order of the layout."""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from tagsight.model.local_step import local_step
from tagsight.model.photo_step import SweepOptions
from tests import oracles
from tests.model.cases import (
    FIELD_CHOICES,
    STICK_CHOICES,
    Case,
    dense,
    draw_case,
    draw_data,
    for_oracle,
    sweep_nu,
)


def updates_of(case: Case) -> list[tuple[int, int]]:
    """Region and factor of each update: photo by photo, colour by colour, factor by factor."""
    layout = case.shard.layout
    updates = []
    for i in range(layout.n_photos):
        factor = layout.factor[layout.factor_start[i] : layout.factor_start[i + 1]]
        for c in range(layout.colour_start[i], layout.colour_start[i + 1]):
            rows = layout.rows[layout.class_start[c] : layout.class_start[c + 1]]
            updates += [(int(j), int(k)) for k in factor for j in rows]
    return updates


@pytest.mark.parametrize("choices", STICK_CHOICES)
def test_a_sweep_is_the_literal_one(choices: dict[str, Any]):
    case = draw_case(1, coupling=0.8, affinity=1.3, **choices)
    swept = oracles.sweep(for_oracle(case), updates_of(case))
    assert dense(sweep_nu(case)) == pytest.approx(swept, abs=1e-12)


@pytest.mark.parametrize("fields", FIELD_CHOICES)
@pytest.mark.parametrize("exclusive", [False, True])
def test_a_sweep_is_the_literal_one_at_any_strength_of_the_fields(fields: dict[str, Any], exclusive: bool):
    case = draw_case(2, **fields, exclusive=exclusive)
    swept = oracles.sweep(for_oracle(case), updates_of(case))
    assert dense(sweep_nu(case)) == pytest.approx(swept, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_sweep_is_the_literal_one_where_photos_lie_together(seed: int):
    """Features of such photos are not gathered but read in place, in another order than the slots."""
    case = draw_case(seed, draw_data(np.random.default_rng(seed), shuffled=False))
    layout = case.shard.layout
    assert not np.array_equal(layout.rows, np.arange(len(case.data.X)))
    swept = oracles.sweep(for_oracle(case), updates_of(case))
    assert dense(sweep_nu(case)) == pytest.approx(swept, abs=1e-12)


def test_log_odds_are_those_nu_was_updated_to():
    case = draw_case(10)
    log_odds = np.empty_like(case.local.assign)
    new, _ = local_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=2), log_odds=log_odds)
    assert expit(log_odds) == pytest.approx(new.assign, abs=1e-12)
    sharp = case.state._replace(scales=case.state.scales._replace(noise=1e-4))
    new, _ = local_step(case.shard, case.local, sharp, case.settings, SweepOptions(passes=2), log_odds=log_odds)
    certain = (new.assign == 0) | (new.assign == 1)
    assert certain.mean() > 0.8
    assert np.array_equal(log_odds[certain] > 0, new.assign[certain] == 1)
    assert len(np.unique(log_odds)) == len(log_odds)


def test_every_allowed_nu_is_updated_once():
    case = draw_case(3)
    updates = updates_of(case)
    assert sorted(updates) == sorted(
        (j, int(k)) for j, i in enumerate(case.data.groups) for k in np.flatnonzero(case.data.allowed[i])
    )


def test_a_sweep_updates_the_sticks_after_nu():
    case = draw_case(4, stick_order="free-first")
    new, _ = local_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=1))
    p = for_oracle(case._replace(local=case.local._replace(assign=new.assign)))
    assert all(p.sequences)
    assert len(p.sequences) == len(p.tau) > 1
    for i, sequences in enumerate(p.sequences):
        size = np.sum(p.photo == i)
        for s, columns in enumerate(sequences):
            count = p.nu[p.photo == i].sum(axis=0)[columns]
            tau = p.tau[i, columns]
            for _ in range(3):
                tau = oracles.update_tau(count, size - count, p.alpha[s, 0] / p.alpha[s, 1], tau)
            assert new.sticks[i, columns] == pytest.approx(tau, rel=1e-9)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("centred", [False, True])
def test_passes_are_sweeps_in_a_row(centred: bool, exclusive: bool):
    case = draw_case(5, centred=centred, exclusive=exclusive)
    twice, _ = local_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=2))
    local = case.local
    for _ in range(2):
        local, _ = local_step(case.shard, local, case.state, case.settings, SweepOptions(passes=1))
    assert twice.assign == pytest.approx(local.assign, abs=1e-12)
    assert twice.sticks == pytest.approx(local.sticks, rel=1e-12)


def test_sweeps_stop_when_nothing_moves():
    case = draw_case(6, coupling=0.2, affinity=0.2, stick_order="free-first")
    stopped, _ = local_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=500, tol=1e-6))
    longer, _ = local_step(case.shard, stopped, case.state, case.settings, SweepOptions(passes=100))
    assert stopped.assign == pytest.approx(longer.assign, abs=1e-4)


@pytest.mark.parametrize("centred", [False, True])
def test_single_precision_follows_double(centred: bool):
    case = draw_case(8, centred=centred)
    data = case.data._replace(X=case.data.X.astype(np.float32))
    shard = case.shard._replace(features=data.X)
    local = case.local._replace(assign=case.local.assign.astype(np.float32))
    single, _ = local_step(shard, local, case.state, case.settings, SweepOptions(passes=3))
    double, _ = local_step(case.shard, case.local, case.state, case.settings, SweepOptions(passes=3))
    assert single.assign.dtype == np.float32
    assert single.assign == pytest.approx(double.assign, abs=2e-4)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("centred", [False, True])
def test_photos_without_regions_or_factors_do_no_harm(centred: bool, exclusive: bool):
    rng = np.random.default_rng(9)
    data = draw_data(rng, sizes=(3, 0, 2, 0))
    allowed = data.allowed.copy()
    allowed[2] = 0
    case = draw_case(9, data._replace(allowed=allowed), centred=centred, exclusive=exclusive)
    nu = dense(sweep_nu(case, passes=2))
    assert np.all(nu[data.groups == 2] == 0)
    assert np.all(np.isfinite(nu))
