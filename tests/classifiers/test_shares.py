"""Shares of kinds are drawn together as far as the kinds are alike."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tagsight.classifiers.shares import shrink_shares


def test_kinds_that_differ_by_chance_alone_share_one_mean() -> None:
    rng = np.random.default_rng(0)
    n = rng.integers(5, 200, 40)
    count = rng.binomial(n[:, None], 0.3, (40, 50)).astype(float)
    raw = count / n[:, None]
    assert np.abs(shrink_shares(count, n) - 0.3).mean() < 0.25 * np.abs(raw - 0.3).mean()


def test_kinds_that_are_all_or_nothing_stay_so() -> None:
    n = np.array([3, 40, 7])
    count = np.array([[3.0], [0.0], [7.0]])
    assert_allclose(shrink_shares(count, n), [[1], [0], [1]], atol=0.02)


@pytest.mark.parametrize("alike", [0.05, 0.3])
def test_a_kind_is_drawn_by_the_correlation_within_kinds(alike: float) -> None:
    rng = np.random.default_rng(1)
    prior = (1 - alike) / alike
    shares = rng.beta(0.4 * prior, 0.6 * prior, (400, 20))
    n = rng.integers(2, 60, 400)
    count = rng.binomial(n[:, None], shares).astype(float)
    best = (count + 0.4 * prior) / (n[:, None] + prior)
    assert_allclose(shrink_shares(count, n), best, atol=0.05)
    assert np.mean((shrink_shares(count, n) - shares) ** 2) < np.mean((count / n[:, None] - shares) ** 2)


def test_a_kind_never_seen_has_the_mean_and_nothing_seen_has_nothing() -> None:
    assert_allclose(shrink_shares(np.array([[5.0], [0.0]]), np.array([10, 0]))[1], 0.5)
    assert_allclose(shrink_shares(np.array([[9.0], [0.0], [0.0]]), np.array([9, 9, 0]))[2], 0.5)
    assert_allclose(shrink_shares(np.zeros((2, 1)), np.zeros(2, int)), 0.0)
