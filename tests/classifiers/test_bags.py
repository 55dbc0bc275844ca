"""The odds of a bag, the gradient of its loss, and bags as they are picked."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from tagsight.classifiers import bags
from tagsight.classifiers.bags import Bags

UNEVEN = Bags(np.random.default_rng(0).normal(size=(5, 3)), np.array([0.2, 0.8, 0.5, 0.3, 0.2]), np.array([0, 2, 5]))
WEIGHT = np.array([[0.5, 2.0], [1.0, 0.3]])


def test_the_odds_of_a_photo_are_the_mean_odds_of_its_regions():
    scores = UNEVEN.X
    odds = np.exp(bags.pool_scores(scores, UNEVEN))
    assert_allclose(odds[0], 0.2 * np.exp(scores[0]) + 0.8 * np.exp(scores[1]))
    assert_allclose(odds[1], 0.5 * np.exp(scores[2]) + 0.3 * np.exp(scores[3]) + 0.2 * np.exp(scores[4]))


def test_the_gradient_of_the_pooled_loss():
    truth = np.array([[1, 0], [0, 0]])
    start = np.random.default_rng(1).normal(size=(3 + 1) * 2)
    _, gradient = bags.pooled_loss(start, [UNEVEN], truth, WEIGHT, 0.3)
    numeric = approx_fprime(start, lambda p: bags.pooled_loss(p, [UNEVEN], truth, WEIGHT, 0.3)[0], 1e-6)
    assert_allclose(gradient, numeric, atol=1e-5)


def test_tags_minimised_apart_or_together_are_the_same(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bags, "STEPS", 500)
    rng = np.random.default_rng(2)
    many = Bags(rng.normal(size=(60, 4)), np.full(60, 1 / 3), np.arange(0, 61, 3))
    truth, weight = rng.random((20, 5)), np.full((20, 5), 0.05)
    together = bags.train_pooled([many], 4, truth, weight, 0.1)
    monkeypatch.setattr(bags, "TOGETHER", 1)
    apart = bags.train_pooled([many], 4, truth, weight, 0.1)
    assert_allclose(together.score(many.X), apart.score(many.X), atol=0.02)


def test_bags_in_blocks_have_the_loss_of_all_together():
    rng = np.random.default_rng(2)
    many = Bags(rng.normal(size=(60, 4)), np.full(60, 1 / 3), np.arange(0, 61, 3))
    truth, weight, start = rng.random((20, 5)), rng.random((20, 5)), rng.normal(size=25)
    blocks = [many.pick(np.arange(7)), many.pick(np.arange(7, 20))]
    whole, gradient = bags.pooled_loss(start, [many], truth, weight, 0.1)
    assert_allclose(bags.pooled_loss(start, blocks, truth, weight, 0.1)[0], whole)
    assert_allclose(bags.pooled_loss(start, blocks, truth, weight, 0.1)[1], gradient, atol=1e-12)
