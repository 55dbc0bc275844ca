"""Scores of photos left out, and the scale made from them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tagsight.errors import InputError
from tagsight.types import Array, Ints
from tagsight_bench.baselines.choice import choose_setting, fit_scale, score_left_out


def test_no_photo_is_scored_by_a_fit_that_saw_it():
    truth = np.zeros((10, 2))
    seen = np.zeros(10, int)

    def score(train: Ints, test: Ints) -> Array:
        assert not set(train) & set(test)
        assert len(train) + len(test) == 10
        seen[test] += 1
        return np.column_stack([test, 10 * test])

    assert_array_equal(score_left_out(score, truth, seed=0), np.column_stack([np.arange(10), 10 * np.arange(10)]))
    assert_array_equal(seen, 1)


def test_boxes_of_a_photo_are_left_out_together():
    photo = np.array([0, 0, 0, 1, 2, 2, 3, 3, 3, 4])

    def score(train: Ints, test: Ints) -> Array:
        assert not set(photo[train]) & set(photo[test])
        assert len(train) + len(test) == len(photo)
        return test[:, None]

    assert_array_equal(score_left_out(score, np.zeros((10, 1)), seed=0, photos=photo)[:, 0], np.arange(10))


def test_one_photo_cannot_be_left_out():
    with pytest.raises(InputError, match="at least two"):
        score_left_out(lambda _, test: np.zeros((len(test), 1)), np.zeros((1, 1)), seed=0)


def test_the_setting_that_ranks_best_is_chosen():
    truth = (np.random.default_rng(0).random((60, 3)) < 0.4).astype(int)
    noise = np.random.default_rng(1).normal(size=(60, 3))
    choice = choose_setting(
        lambda _, test, setting: truth[test] + setting * noise[test], truth, (3.0, 0.1, 1.0), seed=0
    )
    assert choice.setting == 0.1
    assert choice.precision[1] > choice.precision[2] > choice.precision[0]


def test_log_odds_follow_the_rate_of_the_tag():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(4000, 1))
    truth = (rng.random((4000, 1)) < 1 / (1 + np.exp(-(2 * scores - 1)))).astype(int)
    scale = fit_scale(scores, truth)
    assert_allclose(scale.slope, 2, atol=0.2)
    assert_allclose(scale.offset, -1, atol=0.15)
    assert_allclose(scale.apply(np.array([[1.0]])), [[1.0]], atol=0.3)


def test_a_tag_of_all_or_none_needs_no_score():
    scale = fit_scale(np.random.default_rng(0).normal(size=(5, 2)), np.array([[0, 1]] * 5))
    assert_array_equal(scale.apply(np.array([[7.0, -7.0]])), [[-50, 50]])
