"""The global updates against enumeration, numeric integration and the sum over regions."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import digamma

from tagsight.model.global_step import (
    compute_prior_precision,
    expect_residual,
    fit_appearance_scale,
    fit_noise,
    fit_sparsity,
    fix_sparsity,
    global_step,
    solve_appearance,
)
from tagsight.model.settings import NOISES
from tagsight.model.state import empty_summary
from tests import oracles
from tests.model.cases import draw_case, for_oracle, summarise


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("seed", range(3))
def test_expected_residual_is_that_of_every_z_weighted_by_nu(seed: int, noise: str, exclusive: bool):
    case = draw_case(seed, noise=noise, exclusive=exclusive)
    expected = oracles.expect_square(for_oracle(case))
    summary, appearance = summarise(case), case.state.appearance
    assert expect_residual(summary, appearance, case.state.inverse_shape) == pytest.approx(expected, rel=1e-12)
    if noise == "full":
        return
    assert fit_noise(summary, appearance) == pytest.approx(expected / case.data.X.size, rel=1e-12)


def test_appearance_is_the_fixed_point_of_the_papers_updates_of_one_factor_at_a_time():
    case = draw_case(4)
    p = for_oracle(case)
    K, ratio = len(p.phi), p.noise / p.scale
    for _ in range(3000):
        for k in range(K):
            rest = p.X - p.nu @ p.phi + np.outer(p.nu[:, k], p.phi[k])
            p.phi[k] = p.nu[:, k] @ rest / (p.nu[:, k].sum() + ratio)
    solved = solve_appearance(summarise(case), case.state.scales, np.full(K, ratio))
    assert solved.mean == pytest.approx(p.phi, abs=1e-9)
    for k in range(K):
        assert 1 / solved.var[k] == pytest.approx(1 / p.scale + p.nu[:, k].sum() / p.noise)


def test_appearances_are_shrunk_as_by_regions_at_zero_that_are_observed():
    """The prior has the effect of r_k more regions with x = 0 in which only factor k is on."""
    case = draw_case(8, shrinkage=3.0, attribute_shrinkage=7.0, exclusive=True)
    r = compute_prior_precision(case.settings, case.state.scales)
    assert list(r) == [3.0, 3.0, 3.0, 7.0, 7.0, 3.0, 3.0]
    p = for_oracle(case)
    C, S = sum(oracles.expect_pairs(p, j) for j in range(len(p.X))), p.nu.T @ p.X
    solved = solve_appearance(summarise(case), case.state.scales, r)
    assert solved.mean == pytest.approx(np.linalg.solve(C + np.diag(r), S), rel=1e-9, abs=1e-12)
    assert solved.var == pytest.approx(p.noise / (r + p.nu.sum(axis=0)))


@pytest.mark.parametrize("noise", NOISES)
def test_variances_of_shrunken_appearances_follow_the_noise(noise: str):
    case = draw_case(9, shrinkage=4.0, noise=noise)
    stepped = global_step(summarise(case), case.state, case.settings)
    assert stepped.scales.appearance == pytest.approx(stepped.scales.noise / 4.0)


def test_appearance_scale_is_the_mean_square_of_an_entry():
    mean, var = draw_case(5).state.appearance
    draws = mean + np.sqrt(var)[:, None] * np.random.default_rng(0).standard_normal((20_000, *mean.shape))
    assert fit_appearance_scale(draw_case(5).state.appearance) == pytest.approx(np.mean(draws**2), rel=0.01)


@pytest.mark.parametrize(("n_sticks", "log_sticks"), [(0.0, 0.0), (3.0, -1.2), (40.0, -55.0), (200.0, -9.0)])
def test_sparsity_is_the_posterior_by_numeric_integration(n_sticks: float, log_sticks: float):
    """alpha ~ Gamma(1, 1); n sticks v ~ Beta(alpha, 1) whose expected logs sum to `log_sticks`."""
    summary = empty_summary(1, 1, 1)
    summary = summary._replace(n_sticks=np.array([n_sticks]), log_sticks=np.array([log_sticks]))
    mean, log_mean, bound = fit_sparsity(summary)
    peak = n_sticks / (1 - log_sticks)
    width = np.sqrt(n_sticks + 1) / (1 - log_sticks)
    low, high = max(0.0, peak - 12 * width), peak + 40 * width

    def log_joint(alpha: float) -> float:
        return -alpha + n_sticks * np.log(alpha) + (alpha - 1) * log_sticks

    top = log_joint(max(peak, 1e-9)) if n_sticks else -log_sticks

    def integrate(value) -> float:
        function = lambda alpha: np.exp(log_joint(alpha) - top) * value(alpha)  # noqa: E731
        return quad(function, low, high, epsabs=0, epsrel=1e-10, limit=500)[0]

    mass = integrate(lambda alpha: 1.0)
    assert mean[0] == pytest.approx(integrate(lambda alpha: alpha) / mass, rel=1e-7)
    assert log_mean[0] == pytest.approx(integrate(np.log) / mass, rel=1e-6, abs=1e-6)
    evidence = np.log(mass) + top
    computed = n_sticks * log_mean[0] + (mean[0] - 1) * log_sticks + bound
    assert computed == pytest.approx(evidence, rel=1e-7, abs=1e-7)


def test_each_sequence_has_its_own_sparsity():
    summary = empty_summary(1, 1, 3)
    summary = summary._replace(n_sticks=np.array([9.0, 0.0, 4.0]), log_sticks=np.array([-3.0, 0.0, -7.0]))
    fitted = fit_sparsity(summary)
    assert fitted.mean == pytest.approx([10 / 4, 1.0, 5 / 8])
    assert fitted.log_mean == pytest.approx(digamma([10, 1, 5]) - np.log([4, 1, 8]))


def test_fixed_parameters_do_not_change():
    case = draw_case(6, sparsity=2.0, learn_affinity=False)
    fixed = case.state._replace(sparsity=fix_sparsity(np.full(3, 2.0)))
    stepped = global_step(summarise(case), fixed, case.settings)
    assert stepped.sparsity is fixed.sparsity
    assert stepped.affinity is fixed.affinity
    learned = case.settings._replace(sparsity=None, learn_affinity=True)
    stepped = global_step(summarise(case), fixed, learned)
    assert not np.allclose(stepped.sparsity.mean, 2.0)
    assert not np.allclose(stepped.affinity, fixed.affinity)
