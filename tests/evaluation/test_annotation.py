"""Attributes named first."""

import numpy as np
import pytest

from tagsight_bench.evaluation.annotation import precision_at


def test_by_hand() -> None:
    score, truth = np.array([0.1, 0.9, 0.5, 0.7]), np.array([1, 1, 0, 1])
    assert [precision_at(score, truth, t) for t in (1, 2, 3, 4)] == pytest.approx([1, 1, 2 / 3, 3 / 4])


def test_the_divisor_is_t() -> None:
    assert precision_at(np.array([2.0, 1.0]), np.array([1, 1]), 8) == pytest.approx(2 / 8)
    assert precision_at(np.array([2.0, 1.0]), np.array([0, 0]), 2) == 0


def test_among_ties_the_earlier_column_comes_first() -> None:
    assert precision_at(np.zeros(3), np.array([1, 0, 0]), 1) == 1
    assert precision_at(np.zeros(3), np.array([0, 0, 1]), 2) == 0
