"""Pseudo-labels are tagged objects; regions below Otsu's threshold are background."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tagsight.classifiers.localisation import (
    LocalisationClassifiers,
    LocalisationScores,
    assign_pseudo_labels,
    find_otsu_threshold,
    join_localisation,
    score_localisation,
)
from tagsight.classifiers.regions import EmbeddedRegions
from tagsight.classifiers.regression import Linear
from tagsight.classifiers.score import ClassifierWeights
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.transforms import Views
from tagsight.types import Array

ALONE = ClassifierWeights(smoothing=0.0)
IDENTITY = Linear(np.eye(2, dtype=np.float32), np.zeros(2, np.float32))
ZERO = Linear(np.zeros((2, 2), np.float32), np.zeros(2, np.float32))


def label_regions(
    class_activation: Array, log_odds: Array, tags: Array, *, background: bool = True, photo_classifier: Linear = ZERO
) -> Array:
    """Pseudo-labels of photos of four dissimilar regions, whose vectors are their class activations."""
    labels = np.array([[0, 1, 2, 3]], np.int32)
    views = Views(np.array([2]), np.ones(1), np.ones(1))
    batches = []
    for i, mine in enumerate(tags):
        rows = slice(4 * i, 4 * i + 4)
        photo = PhotoFeatures(class_activation[rows], labels, np.zeros((0, 2), int), np.zeros(0), (4, 1))
        regions = EmbeddedRegions([photo], views, np.eye(4, dtype=np.float32))
        batches.append(
            score_localisation(
                regions, LocalisationClassifiers(IDENTITY, photo_classifier), log_odds[rows], mine[None], ALONE
            )
        )
    return assign_pseudo_labels(join_localisation(batches), np.repeat(np.arange(len(tags)), 4), background=background)


def test_otsus_threshold_maximises_the_variance_between_its_sides() -> None:
    values = np.concatenate([np.random.default_rng(0).normal(0, 1, 300), np.random.default_rng(1).normal(6, 1, 100)])
    threshold = find_otsu_threshold(values)

    def between(at: float) -> float:
        low, high = values[values <= at], values[values > at]
        return len(low) * len(high) * (low.mean() - high.mean()) ** 2

    best = max(between(at) for at in np.linspace(values.min(), values.max(), 800)[1:-1])
    assert between(threshold) == pytest.approx(best, rel=1e-2)
    assert 2 < threshold < 4


def test_a_region_is_the_best_tagged_object_or_background() -> None:
    class_activation = np.array(
        [[9.0, 0.0], [0.0, 9.5], [-9.0, -9.0], [-8.0, -9.0], [9.0, 0.0], [0.0, 9.5], [-9.0, 9.0], [-8.0, -9]]
    )
    tags = np.array([[1, 1], [1, 0]])
    located = label_regions(class_activation, np.zeros_like(class_activation), tags)
    assert_array_equal(located, [1, 2, 0, 0, 1, 0, 0, 0])


def test_the_model_decides_where_class_activation_is_even_and_its_log_odds_are_clipped() -> None:
    class_activation = np.zeros((4, 2))
    posterior = np.array([[30.0, -30.0], [-30.0, 30.0], [-30.0, -30.0], [-1e6, -1e6]])
    assert_array_equal(label_regions(class_activation, posterior, np.ones((1, 2))), [1, 2, 0, 0])


def test_a_photo_without_tags_is_background() -> None:
    class_activation = np.array([[9.0, 9.0]] * 4 + [[9.0, 9.0], [9.0, 9.0], [-9.0, -9.0], [-9.0, -9.0]])
    assert_array_equal(
        label_regions(class_activation, np.zeros_like(class_activation), np.array([[0, 0], [1, 0]])),
        [0, 0, 0, 0, 1, 1, 0, 0],
    )
    assert not label_regions(class_activation[:4], class_activation[:4], np.zeros((1, 2))).any()


def test_without_background_every_region_is_a_tagged_object() -> None:
    class_activation = np.array([[9.0, 0.0], [0.0, 9.5], [-9.0, -8.0], [-8.0, -9.0]])
    assert_array_equal(
        label_regions(class_activation, np.zeros_like(class_activation), np.ones((1, 2)), background=False),
        [1, 2, 2, 1],
    )


def test_every_tagged_object_gets_at_least_its_best_region() -> None:
    class_activation = np.array([[9.0, -5.0], [8.0, -3.0], [-9.0, -7.0], [-9.0, -8.0]])
    both = np.concatenate([class_activation, class_activation])
    assert_array_equal(label_regions(both, both * 0, np.array([[1, 1], [1, 0]])), [1, 2, 0, 0, 1, 1, 0, 0])


def test_an_unplaced_object_gets_its_best_region() -> None:
    """Object 3 of the first photo is not mistaken for the background of the second."""
    score, label = np.array([5.0, 4, -5, 5, 4, -5]), np.array([1, 1, 1, 2, 2, 2], np.int32)
    scores = LocalisationScores(score, label, np.array([[0, 1], [2, 3], [3, 2]], np.int32))
    assert_array_equal(assign_pseudo_labels(scores, np.repeat([0, 1], 3), background=True), [1, 1, 3, 2, 2, 0])


def test_the_photo_classifier_decides_between_object_and_background_only() -> None:
    class_activation = np.array([[9.0, 8.0], [8.0, 9.0], [9.0, 0.0], [9.0, 1.0]])
    photo_classifier = Linear(np.array([[0.0, 0.0], [3.0, 3.0]], np.float32), np.array([-18.0, -13.0], np.float32))
    assert_array_equal(
        label_regions(class_activation, class_activation * 0, np.ones((1, 2)), photo_classifier=photo_classifier),
        [1, 2, 0, 0],
    )
