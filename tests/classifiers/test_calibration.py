"""Calibrated probabilities match observed frequencies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from tagsight.classifiers.calibration import UNCALIBRATED, compute_calibration_error, fit_calibration


def test_a_planted_calibration_is_recovered_with_a_small_error() -> None:
    rng = np.random.default_rng(0)
    s = rng.normal(0, 8, 40_000)
    truth = rng.random(len(s)) < expit(0.3 * s - 1.0)
    found = fit_calibration(s, truth)
    assert found.slope == pytest.approx(0.3, rel=0.05)
    assert found.offset == pytest.approx(-1.0, abs=0.06)
    assert found.error is not None
    assert found.error < 0.02
    assert compute_calibration_error(expit(s), truth) > 5 * found.error


def test_photo_log_odds_count_only_where_they_are_informative() -> None:
    rng = np.random.default_rng(2)
    s, photo = rng.normal(0, 8, (2, 40_000))
    truth = rng.random(len(s)) < expit(0.3 * s + 0.1 * photo - 1.0)
    found = fit_calibration(s, truth, photo)
    assert (found.slope, found.photo_slope) == (pytest.approx(0.3, rel=0.05), pytest.approx(0.1, rel=0.05))
    assert found.error is not None
    assert found.error < 0.02
    unrelated = fit_calibration(s, rng.random(len(s)) < expit(0.3 * s), photo)
    assert unrelated.photo_slope == pytest.approx(0.0, abs=0.01)
    assert_allclose(
        found.apply(s[:9], photo[:9]), expit(found.slope * s + found.photo_slope * photo + found.offset)[:9]
    )


def test_the_calibration_error_matches_a_hand_computed_case() -> None:
    probability = np.array([0.9, 0.9, 0.1, 0.1])
    truth = np.array([1, 0, 0, 0])
    assert compute_calibration_error(probability, truth) == pytest.approx((abs(1 - 1.8) + abs(0 - 0.2)) / 4)


def test_the_slope_is_never_negative() -> None:
    rng = np.random.default_rng(1)
    s = rng.normal(size=500)
    assert fit_calibration(s, s < 0).slope >= 0


def test_a_single_outcome_leaves_scores_uncalibrated() -> None:
    assert fit_calibration(np.zeros(5), np.ones(5)) == UNCALIBRATED


def test_infinite_log_odds_give_finite_probabilities() -> None:
    probability = UNCALIBRATED.apply(np.array([-np.inf, np.inf, 1e30]))
    assert np.isfinite(probability).all()
