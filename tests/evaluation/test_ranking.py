"""Ranking measures: by hand, against scikit-learn, and against slow loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from tagsight.types import Array
from tagsight_bench.evaluation.mask_measures import average_defined
from tagsight_bench.evaluation.ranking import (
    area_under_roc,
    average_precision,
    average_recall,
    interpolate_precision,
    measure_columns,
    trace_curve,
)

SCORE = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
TRUTH = np.array([1, 0, 1, 0, 1])  # precision 1, 1/2, 2/3, 1/2, 3/5 at recall 1/3, 1/3, 2/3, 2/3, 1


def test_measures_by_hand() -> None:
    assert average_precision(SCORE, TRUTH) == pytest.approx((1 + 2 / 3 + 3 / 5) / 3)
    # Recall 1 up to precision 3/5, 2/3 up to 2/3, 1/3 up to 1.
    assert average_recall(SCORE, TRUTH) == pytest.approx(3 / 5 + (2 / 3 - 3 / 5) * 2 / 3 + (1 - 2 / 3) / 3)
    assert area_under_roc(SCORE, TRUTH) == pytest.approx(3 / 6)


def test_average_recall_equals_interpolated_precision_where_precision_rises() -> None:
    late = np.array([0, 0, 1, 1, 1])  # precision rises all the way: 1/3, 2/4, 3/5
    assert average_precision(SCORE, late) == pytest.approx((1 / 3 + 1 / 2 + 3 / 5) / 3)
    assert average_recall(SCORE, late) == pytest.approx(3 / 5)


def test_ties_are_retrieved_together() -> None:
    score = np.array([0.9, 0.5, 0.5, 0.5])
    truth = np.array([0, 1, 0, 1])
    curve = trace_curve(score, truth)
    assert curve.precision == pytest.approx([0, 1 / 2])
    assert curve.recall == pytest.approx([0, 1])
    assert average_precision(score, truth) == pytest.approx(1 / 2)
    assert average_recall(score, truth) == pytest.approx(1 / 2)
    assert area_under_roc(score, truth) == pytest.approx((0 + 0.5 + 0 + 0.5) / 4)


def test_undefined_measures_are_nan() -> None:
    nothing, everything = np.zeros(3), np.ones(3)
    score = np.arange(3.0)
    assert np.isnan([average_precision(score, nothing), average_recall(score, nothing)]).all()
    assert np.isnan([area_under_roc(score, nothing), area_under_roc(score, everything)]).all()
    assert average_precision(score, everything) == average_recall(score, everything) == 1.0


def test_means_skip_nan() -> None:
    truth = np.array([[1, 0], [0, 0]])
    score = np.array([[0.1, 0.3], [0.2, 0.1]])
    values = measure_columns(average_precision, score, truth)
    assert values == pytest.approx([0.5, np.nan], nan_ok=True)
    assert average_defined(values) == 0.5
    assert np.isnan(average_defined(np.array([np.nan])))


@st.composite
def rankings(draw: st.DrawFn) -> tuple[Array, Array]:
    n = draw(st.integers(2, 30))
    score = np.array(draw(st.lists(st.integers(0, 6), min_size=n, max_size=n)), float)  # many ties
    truth = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    truth[draw(st.integers(0, n - 1))] = 1
    return score, truth


@given(rankings())
def test_measures_match_scikit_learn(ranking: tuple[Array, Array]) -> None:
    score, truth = ranking
    assert average_precision(score, truth) == pytest.approx(average_precision_score(truth, score))
    if truth.all():
        return
    assert area_under_roc(score, truth) == pytest.approx(roc_auc_score(truth, score))


@given(rankings())
def test_average_recall_is_the_mean_over_precisions(ranking: tuple[Array, Array]) -> None:
    score, truth = ranking
    points = [(truth[score >= s].mean(), truth[score >= s].sum() / truth.sum()) for s in np.unique(score)]
    precisions = (np.arange(4000) + 0.5) / 4000
    recall = [max([r for p, r in points if p >= level], default=0.0) for level in precisions]
    assert average_recall(score, truth) == pytest.approx(np.mean(recall), abs=30 / 4000)


@given(rankings())
def test_average_recall_is_the_interpolated_average_precision(ranking: tuple[Array, Array]) -> None:
    score, truth = ranking
    n = int(truth.sum())
    curve = trace_curve(score, truth)
    # Recall is a multiple of 1/n, so the interpolated curve is flat between.
    interpolated = interpolate_precision(curve, (np.arange(n) + 0.5) / n)
    assert average_recall(score, truth) == pytest.approx(interpolated.mean())
    assert average_recall(score, truth) >= average_precision(score, truth) - 1e-12


def test_interpolated_precision_by_hand() -> None:
    curve = trace_curve(SCORE, TRUTH)
    found = interpolate_precision(curve, np.array([0.0, 1 / 3, 0.5, 1.0]))
    assert found == pytest.approx([1, 1, 2 / 3, 3 / 5])
