"""Named starts: their values of nu, reproducibility by seed, and the globals that follow from them."""

import numpy as np
import pytest
from scipy.special import expit

from tagsight.model.global_step import fit_appearance_scale, fit_noise, solve_appearance
from tagsight.model.settings import Factors
from tagsight.model.start import RIDGE, SLOPE, STARTS, blank_globals, first_globals, start_local
from tagsight.model.state import Scales
from tests import oracles
from tests.model.cases import FACTORS, Case, dense, draw_case, draw_data, for_oracle, summarise


def begin(case: Case, start: str, seed: int = 0) -> Case:
    fill = STARTS[start]([case.shard], case.settings.factors, seed)
    alpha = np.ones(case.plan.n_sequences)
    return case._replace(local=start_local(case.shard, fill, alpha, case.plan))


@pytest.mark.parametrize("start", ["tags", "kmeans"])
def test_tags_start_undecided_in_every_region(start: str):
    case = begin(draw_case(1), start)
    allowed = case.data.allowed[case.data.groups][:, : FACTORS.tagged]
    assert np.array_equal(dense(case)[:, : FACTORS.tagged], 0.5 * allowed)


def test_an_activation_is_the_regression_of_tags_on_photos():
    case = draw_case(3)
    X, groups, allowed = case.data.X, case.data.groups, case.data.allowed
    means = np.array([X[groups == i].mean(axis=0) for i in range(len(allowed))])
    tags = allowed[:, : FACTORS.tagged].astype(float)
    centred = means - means.mean(axis=0)
    ridge = RIDGE * np.trace(centred.T @ centred) / X.shape[1]
    W = np.linalg.solve(centred.T @ centred + ridge * np.eye(X.shape[1]), centred.T @ (tags - tags.mean(axis=0)))
    spread = (centred @ W).std(axis=0)
    expected = expit(SLOPE * (X - means.mean(axis=0)) @ W / np.where(spread > 0, spread, np.inf))
    nu = dense(begin(case, "activation"))[:, : FACTORS.tagged]
    assert nu == pytest.approx(expected * allowed[groups][:, : FACTORS.tagged], abs=1e-9)


def test_an_activation_finds_the_regions_that_tags_are_for():
    rng = np.random.default_rng(0)
    factors, A = Factors(3, 0, 1), 3.0 * rng.standard_normal((3, 8))
    data = draw_data(rng, factors, sizes=(6,) * 60, D=8)
    what = rng.integers(4, size=len(data.X))  # 3: background
    X = np.vstack([A, np.zeros(8)])[what] + 0.3 * rng.standard_normal((len(what), 8))
    there = np.array([[np.any(what[data.groups == i] == o) for o in range(3)] for i in range(60)])
    data = data._replace(X=X, allowed=np.hstack([there, np.ones((60, 1))]).astype(np.uint8))
    nu = dense(begin(draw_case(0, data, factors), "activation"))[:, :3]
    objects = what < 3
    assert np.mean(nu[objects].argmax(axis=1) == what[objects]) > 0.9


def test_an_activation_of_photos_all_alike_is_their_tags():
    case = draw_case(3)
    alike = case.data._replace(X=np.ones_like(case.data.X))
    case = draw_case(3, alike)
    assert np.array_equal(dense(begin(case, "activation")), dense(begin(case, "tags")))


@pytest.mark.parametrize("start", ["tags", "random", "activation"])
def test_free_factors_start_anywhere(start: str):
    free = dense(begin(draw_case(1), start))[:, FACTORS.tagged :]
    assert np.all((free > 0) & (free < 1))
    assert len(np.unique(free)) == free.size
    assert free.std() > 0.2


def test_each_region_starts_with_the_free_factor_of_its_cluster():
    rng = np.random.default_rng(2)
    factors = Factors(1, 0, 3)
    data = draw_data(rng, factors, sizes=(8, 9, 7))
    cluster = rng.integers(3, size=24)
    data = data._replace(X=10.0 * np.eye(3, 4)[cluster] + 0.1 * data.X)
    free = dense(begin(draw_case(2, data, factors), "kmeans"))[:, 1:]
    assert np.array_equal(free.sum(axis=1), np.ones(24))
    together = free @ free.T
    assert np.array_equal(together == 1, cluster[:, None] == cluster)


@pytest.mark.parametrize("start", STARTS)
def test_a_start_is_a_function_of_its_seed(start: str):
    case = draw_case(3)
    assert np.array_equal(dense(begin(case, start, 5)), dense(begin(case, start, 5)))
    if start != "kmeans":
        assert not np.array_equal(dense(begin(case, start, 5)), dense(begin(case, start, 6)))


def test_sticks_are_fitted_to_the_start():
    case = begin(draw_case(4, stick_order="tagged-first"), "random")
    p = for_oracle(case)
    assert all(p.sequences)
    assert len(p.sequences) == len(p.tau) > 1
    for i, sequences in enumerate(p.sequences):
        size = np.sum(p.photo == i)
        for columns in sequences:
            count, tau = p.nu[p.photo == i].sum(axis=0)[columns], np.ones((len(columns), 2))
            for _ in range(9):
                tau = oracles.update_tau(count, size - count, 1.0, tau)
            assert p.tau[i, columns] == pytest.approx(tau, rel=1e-9)


def test_all_variance_is_noise_at_first():
    case = begin(draw_case(5), "tags")
    M = np.full((FACTORS.total, FACTORS.total), 0.25)
    summary = summarise(case)
    state = first_globals(summary, blank_globals(case.settings, case.data.X.shape[1]), case.settings, M)
    variance = float(np.mean(case.data.X**2))
    expected = solve_appearance(summary, Scales(variance, variance), np.ones(FACTORS.total))
    assert state.appearance.mean == pytest.approx(expected.mean)
    assert state.appearance.var == pytest.approx(expected.var)
    scales = Scales(fit_noise(summary, expected), fit_appearance_scale(expected))
    assert state.scales == pytest.approx(scales, rel=1e-12)
    assert state.affinity is M
