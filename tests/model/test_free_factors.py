"""Proposals separate binary sources that coordinate ascent would leave mixed."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tagsight.model.free_factors import Contrast, find_sources, kurtosis, propose_free, skewness
from tagsight.model.global_step import fix_sparsity
from tagsight.model.settings import Factors
from tagsight.model.state import Appearance, Globals, Scales
from tagsight.types import Floats

NOISE = 0.3  # standard deviation


def mix(p: float, *, n: int = 4000, q: int = 4, D: int = 24) -> tuple[Floats, Floats]:
    """Sums of q binary sources that are on with probability p, and the sources' appearances."""
    rng = np.random.default_rng(int(100 * p))
    A = rng.standard_normal((q, D))
    z = rng.random((n, q)) < p
    return z @ A + NOISE * rng.standard_normal((n, D)), A


def match(found: Floats, A: Floats) -> Floats:
    """Distance of each planted appearance to the one it is matched with, relative to its length."""
    distance = np.linalg.norm(A[:, None] - found[None], axis=2) / np.linalg.norm(A, axis=1)[:, None]
    return distance[linear_sum_assignment(distance)]


@pytest.mark.parametrize(("p", "contrast"), [(0.21, skewness), (0.5, kurtosis), (0.1, skewness), (0.1, kurtosis)])
def test_planted_binary_sources_are_found_with_their_scale(p: float, contrast: Contrast):
    R, A = mix(p)
    found = find_sources(R, NOISE**2, 6, contrast, 0)
    assert found.shape == A.shape
    assert match(found, A).max() < 0.25


@pytest.mark.parametrize(("p", "failing"), [(0.21, kurtosis), (0.5, skewness)])
def test_each_contrast_fails_where_the_other_succeeds(p: float, failing: Contrast):
    """Both contrasts are needed: with only one of them the test above would fail."""
    R, A = mix(p)
    assert match(find_sources(R, NOISE**2, 6, failing, 0), A).max() > 0.25


def test_contrasts_are_given_with_their_derivatives():
    x = np.random.default_rng(0).standard_normal((3, 50))
    for contrast in (skewness, kurtosis):
        slope = (contrast(x + 1e-6)[0] - contrast(x - 1e-6)[0]) / 2e-6
        assert contrast(x)[1] == pytest.approx(slope.mean(axis=-1), rel=1e-6)


@pytest.mark.parametrize("contrast", [skewness, kurtosis])
def test_nothing_is_found_in_noise(contrast: Contrast):
    R = NOISE * np.random.default_rng(1).standard_normal((3000, 24))
    assert find_sources(R, NOISE**2, 6, contrast, 0).shape == (0, 24)


def test_no_more_sources_are_found_than_wanted():
    R, _ = mix(0.3)
    assert len(find_sources(R, NOISE**2, 2, skewness, 0)) == 2


def test_a_proposal_changes_free_factors_only():
    R, A = mix(0.3)
    factors = Factors(1, 1, 6)
    rng = np.random.default_rng(2)
    state = Globals(
        Appearance(rng.standard_normal((8, 24)), rng.uniform(0.1, 0.2, 8)),
        Scales(NOISE**2, 0.7),
        fix_sparsity(np.ones(3)),
        np.zeros((8, 8)),
    )
    mean, var = propose_free(R, state, factors, skewness, 0).appearance
    assert np.array_equal(mean[:2], state.appearance.mean[:2])
    assert match(mean[2:6], A).max() < 0.25
    assert np.all(mean[6:] == 0.0)
    assert np.array_equal(var[:6], state.appearance.var[:6])
    assert np.all(var[6:] == 0.7)
