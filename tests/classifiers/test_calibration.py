"""Calibrated probabilities mean what they say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from tagsight.classifiers.calibration import UNCALIBRATED, calibration_error, fit_calibration


def test_a_planted_map_is_found_and_its_error_is_small() -> None:
    rng = np.random.default_rng(0)
    s = rng.normal(0, 8, 40_000)
    truth = rng.random(len(s)) < expit(0.3 * s - 1.0)
    found = fit_calibration(s, truth)
    assert found.slope == pytest.approx(0.3, rel=0.05)
    assert found.offset == pytest.approx(-1.0, abs=0.06)
    assert found.error is not None
    assert found.error < 0.02
    assert calibration_error(expit(s), truth) > 5 * found.error


def test_what_the_whole_photo_says_counts_as_far_as_it_helps() -> None:
    rng = np.random.default_rng(2)
    s, whole = rng.normal(0, 8, (2, 40_000))
    truth = rng.random(len(s)) < expit(0.3 * s + 0.1 * whole - 1.0)
    found = fit_calibration(s, truth, whole)
    assert (found.slope, found.whole) == (pytest.approx(0.3, rel=0.05), pytest.approx(0.1, rel=0.05))
    assert found.error is not None
    assert found.error < 0.02
    idle = fit_calibration(s, rng.random(len(s)) < expit(0.3 * s), whole)
    assert idle.whole == pytest.approx(0.0, abs=0.01)
    assert_allclose(found.apply(s[:9], whole[:9]), expit(found.slope * s + found.whole * whole + found.offset)[:9])


def test_the_error_of_a_hand_computed_case() -> None:
    probability = np.array([0.9, 0.9, 0.1, 0.1])
    truth = np.array([1, 0, 0, 0])
    assert calibration_error(probability, truth) == pytest.approx((abs(1 - 1.8) + abs(0 - 0.2)) / 4)


def test_higher_log_odds_never_mean_less() -> None:
    rng = np.random.default_rng(1)
    s = rng.normal(size=500)
    assert fit_calibration(s, s < 0).slope >= 0


def test_without_both_outcomes_nothing_is_fitted() -> None:
    assert fit_calibration(np.zeros(5), np.ones(5)) == UNCALIBRATED


def test_extreme_log_odds_stay_finite() -> None:
    probability = UNCALIBRATED.apply(np.array([-np.inf, np.inf, 1e30]))
    assert np.isfinite(probability).all()
