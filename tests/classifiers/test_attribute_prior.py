"""Attribute support removes accidental co-occurrence; rates are shrunk the more, the more similar classes are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tagsight.classifiers.attribute_prior import estimate_attribute_support, shrink_rates


def test_an_attribute_is_supported_by_the_object_that_explains_it() -> None:
    rng = np.random.default_rng(0)
    objects = rng.random((4000, 3)) < [0.5, 0.5, 0.3]
    objects[:, 1] |= objects[:, 0] & (rng.random(4000) < 0.6)  # cars are in most photos of horses
    furry = objects[:, 0] & (rng.random(4000) < 0.8)
    metal = objects[:, 1] & (rng.random(4000) < 0.9)
    support = estimate_attribute_support(objects, np.stack([furry, metal], axis=1))
    assert_allclose(support, [[0.8, 0.0], [0.0, 0.9], [0.0, 0.0]], atol=0.05)
    assert furry[objects[:, 1]].mean() > 0.3  # raw co-occurrence would make cars furry


def test_an_attribute_unrelated_to_objects_has_no_support() -> None:
    rng = np.random.default_rng(1)
    objects = rng.random((2000, 2)) < 0.5
    support = estimate_attribute_support(objects, np.ones((2000, 1)))
    assert support.max() < 0.01


def test_classes_that_differ_only_by_chance_are_shrunk_to_the_mean() -> None:
    rng = np.random.default_rng(0)
    n = rng.integers(5, 200, 40)
    count = rng.binomial(n[:, None], 0.3, (40, 50)).astype(float)
    raw = count / n[:, None]
    assert np.abs(shrink_rates(count, n) - 0.3).mean() < 0.25 * np.abs(raw - 0.3).mean()


def test_classes_with_all_or_none_are_not_shrunk() -> None:
    n = np.array([3, 40, 7])
    count = np.array([[3.0], [0.0], [7.0]])
    assert_allclose(shrink_rates(count, n), [[1], [0], [1]], atol=0.02)


@pytest.mark.parametrize("correlation", [0.05, 0.3])
def test_rates_are_the_posterior_means_under_the_planted_correlation(correlation: float) -> None:
    rng = np.random.default_rng(1)
    prior = (1 - correlation) / correlation
    rates = rng.beta(0.4 * prior, 0.6 * prior, (400, 20))
    n = rng.integers(2, 60, 400)
    count = rng.binomial(n[:, None], rates).astype(float)
    best = (count + 0.4 * prior) / (n[:, None] + prior)
    assert_allclose(shrink_rates(count, n), best, atol=0.05)
    assert np.mean((shrink_rates(count, n) - rates) ** 2) < np.mean((count / n[:, None] - rates) ** 2)


def test_an_unseen_class_has_the_mean_rate_and_no_data_gives_zero() -> None:
    assert_allclose(shrink_rates(np.array([[5.0], [0.0]]), np.array([10, 0]))[1], 0.5)
    assert_allclose(shrink_rates(np.array([[9.0], [0.0], [0.0]]), np.array([9, 9, 0]))[2], 0.5)
    assert_allclose(shrink_rates(np.zeros((2, 1)), np.zeros(2, int)), 0.0)
