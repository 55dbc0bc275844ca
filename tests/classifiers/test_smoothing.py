"""Scores shared among kin settle where their definition says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tagsight.classifiers.smoothing import (
    add_attribute_distance,
    adjust_smoothing,
    measure_appearance_distance,
    smooth_scores,
)


@pytest.fixture
def photo() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return rng.normal(size=(7, 3)), X, rng.dirichlet(np.ones(7))


def kin_of(X: np.ndarray, area: np.ndarray, bandwidth: float) -> np.ndarray:
    T = np.zeros((len(X), len(X)))
    for j in range(len(X)):
        for m in range(len(X)):
            if j != m:
                T[j, m] = area[m] * np.exp(-np.sum((X[j] - X[m]) ** 2) / (2 * bandwidth))
        T[j] /= T[j].sum()
    return T


def test_settled_scores_solve_the_equation(photo: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    scores, X, area = photo
    settled = smooth_scores(scores, measure_appearance_distance(X), area, 0.8, bandwidth=0.3)
    T = kin_of(X, area, 0.3)
    assert_allclose(settled, 0.2 * scores + 0.8 * T @ settled, atol=1e-10)


def test_a_constant_stays_and_no_flow_changes_nothing(photo: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    scores, X, area = photo
    assert_allclose(smooth_scores(np.full((7, 1), 2.5), measure_appearance_distance(X), area, 0.9, bandwidth=0.01), 2.5)
    assert_allclose(smooth_scores(scores, measure_appearance_distance(X), area, 0.0, bandwidth=0.3), scores)
    assert_allclose(
        smooth_scores(scores[:1], measure_appearance_distance(X[:1]), area[:1], 0.9, bandwidth=0.3), scores[:1]
    )


def test_twins_far_apart_in_the_photo_agree_and_strangers_do_not() -> None:
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    settled = smooth_scores(
        np.array([[4.0], [0.0], [0.0], [0.0]]), measure_appearance_distance(X), np.full(4, 0.25), 0.9, bandwidth=0.05
    )
    assert settled[1, 0] > 1.5
    assert abs(settled[2, 0]) < 1e-3


def test_a_region_unlike_all_others_still_has_kin() -> None:
    X = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert np.isfinite(
        smooth_scores(np.ones((2, 1)), measure_appearance_distance(X), np.full(2, 0.5), 0.9, bandwidth=1e-4)
    ).all()


def test_a_part_of_the_distance_is_by_traits() -> None:
    rng = np.random.default_rng(3)
    X, q = rng.normal(size=(5, 4)), rng.random((5, 2))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    looks, unlike = (np.array([[np.sum((a - b) ** 2) for b in rows] for a in rows]) for rows in (X, q))
    assert_allclose(measure_appearance_distance(X), looks, atol=1e-12)
    mixed = add_attribute_distance(looks, q, 0.3)
    assert_allclose(mixed, 0.7 * looks + 0.3 * unlike * looks.sum() / unlike.sum(), atol=1e-12)
    assert_allclose(mixed.mean(), looks.mean())  # so that the reach means what it did
    assert_allclose(add_attribute_distance(looks, 5 * q, 0.3), mixed, atol=1e-12)
    assert_allclose(add_attribute_distance(looks, q, 0.0), looks, atol=1e-12)


def test_traits_that_tell_nothing_apart_change_nothing() -> None:
    looks = measure_appearance_distance(np.eye(3))
    assert (add_attribute_distance(looks, np.zeros((3, 0)), 0.3) == looks).all()
    assert (add_attribute_distance(looks, np.full((3, 2), 0.4, np.float32), 0.3) == looks).all()


def test_traits_make_kin_hold_harder_and_cannot_make_kin_of_none() -> None:
    smoothing = adjust_smoothing(0.85, 0.3)
    assert smoothing / (1.0 - smoothing) == pytest.approx(0.85 / 0.15 / 0.7)
    assert adjust_smoothing(0.85, 0.0) == 0.85
    assert adjust_smoothing(0.0, 0.3) == 0.0
