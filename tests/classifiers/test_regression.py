"""Linear classifiers against scikit-learn's, and against their own definition."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from tagsight.classifiers.regression import OneHot, Scaling, fit_logistic, fit_softmax
from tagsight.classifiers.rows import InMemoryRows, compute_mean_std, store_rows


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)).astype(np.float32)
    labels = (X @ rng.normal(size=(5, 3)) + 0.5 * rng.normal(size=(300, 3))).argmax(axis=1)
    return X, labels


def test_softmax_regression_matches_scikit_learn(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, labels = data
    ours = fit_softmax(InMemoryRows(X), np.eye(3)[labels], np.ones(300), C=0.1, max_iter=500)
    theirs = LogisticRegression(C=0.1, tol=1e-8, max_iter=2000).fit(X, labels)
    assert_allclose(ours.weights.T, theirs.coef_, atol=2e-3)


def test_logistic_regression_matches_scikit_learn_for_each_column(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, labels = data
    weight = np.random.default_rng(1).random((300, 1)) + 0.5
    ours = fit_logistic(InMemoryRows(X), np.eye(3)[labels], weight, C=0.3, max_iter=500)
    for k in range(3):
        theirs = LogisticRegression(C=0.3, tol=1e-8, max_iter=2000).fit(X, labels == k, weight.ravel())
        assert_allclose(ours.weights[:, k], theirs.coef_[0], atol=2e-3)
        assert_allclose(ours.offset[k], theirs.intercept_[0], atol=2e-3)


def test_a_soft_target_equals_weighted_copies_of_hard_targets(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, labels = data
    soft = 0.75 * np.eye(3)[labels] + 0.25 * np.eye(3)[(labels + 1) % 3]
    ours = fit_softmax(InMemoryRows(X), soft, np.full(300, 4.0), C=0.1, max_iter=500)
    copies = np.concatenate([labels, labels, labels, (labels + 1) % 3])
    theirs = LogisticRegression(C=0.1, tol=1e-8, max_iter=2000).fit(np.tile(X, (4, 1)), copies)
    assert_allclose(ours.weights.T, theirs.coef_, atol=2e-3)


def test_scaling_equals_scaling_the_rows_beforehand(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, labels = data
    centre = np.arange(5, dtype=np.float32)
    scaling = Scaling(3.0, centre)
    ours = fit_softmax(InMemoryRows(X), OneHot(labels, 3), np.ones(300), C=0.1, max_iter=500, scaling=scaling)
    theirs = fit_softmax(
        InMemoryRows((X - centre) / np.float32(3)), np.eye(3)[labels], np.ones(300), C=0.1, max_iter=500
    )
    assert_allclose(ours.score(X), theirs.score((X - centre) / 3), atol=5e-3)


def test_rows_on_disk_give_the_same_classifier_as_rows_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagsight.classifiers.rows.BLOCK", 70)
    X = np.random.default_rng(0).normal(2.0, 3.0, (300, 4)).astype(np.float32)
    targets = (X[:, :2] > 0).astype(float)
    in_memory, on_disk = store_rows(X, 4, None), store_rows(X, 4, tmp_path / "x")
    assert in_memory.shape == on_disk.shape == (300, 4)
    for ours, theirs in zip(in_memory.blocks(), on_disk.blocks(), strict=True):
        assert_array_equal(ours, theirs)
    for ours, theirs in zip(
        fit_logistic(in_memory, targets, C=1.0), fit_logistic(on_disk, targets, C=1.0), strict=True
    ):
        assert_array_equal(ours, theirs)
    mean, deviation = compute_mean_std(on_disk)
    assert_allclose(mean, X.mean(axis=0), rtol=1e-5)
    assert_allclose(deviation, X.std(axis=0), rtol=1e-5)
