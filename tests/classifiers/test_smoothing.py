"""Smoothed scores solve their defining equation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tagsight.classifiers.smoothing import (
    add_attribute_distance,
    adjust_smoothing,
    compute_appearance_distance,
    smooth_photos,
    smooth_scores,
)
from tests.evaluation.cases import make_photo


@pytest.fixture
def photo() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return rng.normal(size=(7, 3)), X, rng.dirichlet(np.ones(7))


def build_similarity(X: np.ndarray, area: np.ndarray, bandwidth: float) -> np.ndarray:
    T = np.zeros((len(X), len(X)))
    for j in range(len(X)):
        for m in range(len(X)):
            if j != m:
                T[j, m] = area[m] * np.exp(-np.sum((X[j] - X[m]) ** 2) / (2 * bandwidth))
        T[j] /= T[j].sum()
    return T


def test_smoothed_scores_solve_the_equation(photo: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    scores, X, area = photo
    smoothed = smooth_scores(scores, compute_appearance_distance(X), area, 0.8, bandwidth=0.3)
    T = build_similarity(X, area, 0.3)
    assert_allclose(smoothed, 0.2 * scores + 0.8 * T @ smoothed, atol=1e-10)


def test_constant_scores_strength_zero_and_a_single_region_are_unchanged(
    photo: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    scores, X, area = photo
    assert_allclose(smooth_scores(np.full((7, 1), 2.5), compute_appearance_distance(X), area, 0.9, bandwidth=0.01), 2.5)
    assert_allclose(smooth_scores(scores, compute_appearance_distance(X), area, 0.0, bandwidth=0.3), scores)
    assert_allclose(
        smooth_scores(scores[:1], compute_appearance_distance(X[:1]), area[:1], 0.9, bandwidth=0.3), scores[:1]
    )


def test_scores_are_shared_by_similar_regions_and_not_by_dissimilar_ones() -> None:
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    smoothed = smooth_scores(
        np.array([[4.0], [0.0], [0.0], [0.0]]), compute_appearance_distance(X), np.full(4, 0.25), 0.9, bandwidth=0.05
    )
    assert smoothed[1, 0] > 1.5
    assert abs(smoothed[2, 0]) < 1e-3


def test_a_region_dissimilar_to_all_others_has_finite_scores() -> None:
    X = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert np.isfinite(
        smooth_scores(np.ones((2, 1)), compute_appearance_distance(X), np.full(2, 0.5), 0.9, bandwidth=1e-4)
    ).all()


def test_attributes_replace_a_part_of_the_distance() -> None:
    rng = np.random.default_rng(3)
    X, q = rng.normal(size=(5, 4)), rng.random((5, 2))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    appearance, attribute_distance = (np.array([[np.sum((a - b) ** 2) for b in rows] for a in rows]) for rows in (X, q))
    assert_allclose(compute_appearance_distance(X), appearance, atol=1e-12)
    mixed = add_attribute_distance(appearance, q, 0.3)
    assert_allclose(
        mixed, 0.7 * appearance + 0.3 * attribute_distance * appearance.sum() / attribute_distance.sum(), atol=1e-12
    )
    assert_allclose(mixed.mean(), appearance.mean())  # so the bandwidth keeps its scale
    assert_allclose(add_attribute_distance(appearance, 5 * q, 0.3), mixed, atol=1e-12)
    assert_allclose(add_attribute_distance(appearance, q, 0.0), appearance, atol=1e-12)


def test_constant_attributes_leave_the_distance_unchanged() -> None:
    appearance = compute_appearance_distance(np.eye(3))
    assert (add_attribute_distance(appearance, np.zeros((3, 0)), 0.3) == appearance).all()
    assert (add_attribute_distance(appearance, np.full((3, 2), 0.4, np.float32), 0.3) == appearance).all()


def test_attributes_raise_the_smoothing_strength_unless_it_is_zero() -> None:
    smoothing = adjust_smoothing(0.85, 0.3)
    assert smoothing / (1.0 - smoothing) == pytest.approx(0.85 / 0.15 / 0.7)
    assert adjust_smoothing(0.85, 0.0) == 0.85
    assert adjust_smoothing(0.0, 0.3) == 0.0


def test_distances_do_not_change_with_what_all_regions_of_a_photo_share() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6, 4))
    expected = [[np.sum((one - other) ** 2) for other in X] for one in X]
    assert_allclose(compute_appearance_distance(X), expected, atol=1e-12)
    assert_allclose(compute_appearance_distance(X + rng.normal(size=4)), expected, atol=1e-12)


def test_photos_are_smoothed_on_their_own_and_excluded_classes_stay_excluded() -> None:
    rng = np.random.default_rng(2)
    photos = [make_photo(rows=2, columns=2), make_photo(rows=1, columns=1), make_photo(rows=1, columns=3)]
    scores, X = rng.normal(size=(8, 3)), rng.normal(size=(8, 4))
    scores[4:, 1] = -np.inf
    smoothed = smooth_photos(scores, photos, X, 0.6)
    assert np.isneginf(smoothed[4:, 1]).all()
    assert_allclose(smoothed[4, [0, 2]], scores[4, [0, 2]])
    for rows, photo, possible in ((slice(0, 4), photos[0], [0, 1, 2]), (slice(5, 8), photos[2], [0, 2])):
        distance = compute_appearance_distance(X[rows])
        alone = smooth_scores(scores[rows][:, possible], distance, photo.area, 0.6)
        assert_allclose(smoothed[rows][:, possible], alone)
