"""Model selection by cross-validation, and Platt scaling."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tagsight.errors import InputError
from tagsight.types import Array, Ints
from tagsight_bench.baselines.model_selection import cross_val_scores, fit_platt_scaling, select_setting


def test_photos_are_scored_by_fits_without_them():
    truth = np.zeros((10, 2))
    n_scored = np.zeros(10, int)

    def score(train: Ints, test: Ints) -> Array:
        assert not set(train) & set(test)
        assert len(train) + len(test) == 10
        n_scored[test] += 1
        return np.column_stack([test, 10 * test])

    assert_array_equal(cross_val_scores(score, truth, seed=0), np.column_stack([np.arange(10), 10 * np.arange(10)]))
    assert_array_equal(n_scored, 1)


def test_boxes_of_a_photo_are_in_the_same_fold():
    photo = np.array([0, 0, 0, 1, 2, 2, 3, 3, 3, 4])

    def score(train: Ints, test: Ints) -> Array:
        assert not set(photo[train]) & set(photo[test])
        assert len(train) + len(test) == len(photo)
        return test[:, None]

    assert_array_equal(cross_val_scores(score, np.zeros((10, 1)), seed=0, photos=photo)[:, 0], np.arange(10))


def test_a_single_photo_is_refused():
    with pytest.raises(InputError, match="at least two"):
        cross_val_scores(lambda _, test: np.zeros((len(test), 1)), np.zeros((1, 1)), seed=0)


def test_the_setting_with_the_best_ranking_is_selected():
    truth = (np.random.default_rng(0).random((60, 3)) < 0.4).astype(int)
    noise = np.random.default_rng(1).normal(size=(60, 3))
    choice = select_setting(
        lambda _, test, setting: truth[test] + setting * noise[test], truth, (3.0, 0.1, 1.0), seed=0
    )
    assert choice.setting == 0.1
    assert choice.precision[1] > choice.precision[2] > choice.precision[0]


def test_platt_scaling_recovers_planted_parameters():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(4000, 1))
    truth = (rng.random((4000, 1)) < 1 / (1 + np.exp(-(2 * scores - 1)))).astype(int)
    scaling = fit_platt_scaling(scores, truth)
    assert_allclose(scaling.slope, 2, atol=0.2)
    assert_allclose(scaling.offset, -1, atol=0.15)
    assert_allclose(scaling.apply(np.array([[1.0]])), [[1.0]], atol=0.3)


def test_constant_tags_give_certain_log_odds():
    scaling = fit_platt_scaling(np.random.default_rng(0).normal(size=(5, 2)), np.array([[0, 1]] * 5))
    assert_array_equal(scaling.apply(np.array([[7.0, -7.0]])), [[-50, 50]])
