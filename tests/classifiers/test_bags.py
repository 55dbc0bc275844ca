"""The odds of a bag, the loss of bag classifiers and its gradient."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from tagsight.classifiers import bags
from tagsight.classifiers.bags import Bags

UNEVEN = Bags(np.random.default_rng(0).normal(size=(5, 3)), np.array([0.2, 0.8, 0.5, 0.3, 0.2]), np.array([0, 2, 5]))
WEIGHT = np.array([[0.5, 2.0], [1.0, 0.3]])


def test_the_odds_of_a_bag_are_the_mean_odds_of_its_regions() -> None:
    scores = UNEVEN.X
    odds = np.exp(bags.pool_scores(scores, UNEVEN))
    assert_allclose(odds[0], 0.2 * np.exp(scores[0]) + 0.8 * np.exp(scores[1]))
    assert_allclose(odds[1], 0.5 * np.exp(scores[2]) + 0.3 * np.exp(scores[3]) + 0.2 * np.exp(scores[4]))


def test_the_gradient_of_the_loss_matches_finite_differences() -> None:
    truth = np.array([[1, 0], [0, 0]])
    start = np.random.default_rng(1).normal(size=(3 + 1) * 2)
    _, gradient = bags.bag_loss(start, [UNEVEN], truth, WEIGHT, 0.3)
    numeric = approx_fprime(start, lambda p: bags.bag_loss(p, [UNEVEN], truth, WEIGHT, 0.3)[0], 1e-6)
    assert_allclose(gradient, numeric, atol=1e-5)


def test_tags_fitted_in_groups_or_one_by_one_give_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bags, "MAX_ITER", 500)
    rng = np.random.default_rng(2)
    many = Bags(rng.normal(size=(60, 4)), np.full(60, 1 / 3), np.arange(0, 61, 3))
    truth, weight = rng.random((20, 5)), np.full((20, 5), 0.05)
    together = bags.fit_bag_classifiers([many], 4, truth, weight, 0.1)
    monkeypatch.setattr(bags, "TAGS_PER_FIT", 1)
    apart = bags.fit_bag_classifiers([many], 4, truth, weight, 0.1)
    assert_allclose(together.score(many.X), apart.score(many.X), atol=0.02)


def test_the_loss_does_not_depend_on_the_blocks_of_bags() -> None:
    rng = np.random.default_rng(2)
    many = Bags(rng.normal(size=(60, 4)), np.full(60, 1 / 3), np.arange(0, 61, 3))
    truth, weight, start = rng.random((20, 5)), rng.random((20, 5)), rng.normal(size=25)
    blocks = [many.take(np.arange(7)), many.take(np.arange(7, 20))]
    whole, gradient = bags.bag_loss(start, [many], truth, weight, 0.1)
    assert_allclose(bags.bag_loss(start, blocks, truth, weight, 0.1)[0], whole)
    assert_allclose(bags.bag_loss(start, blocks, truth, weight, 0.1)[1], gradient, atol=1e-12)
