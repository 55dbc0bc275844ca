"""Region scores of a photo by hand-made classifiers."""

import numpy as np
from numpy.testing import assert_allclose

from tagsight.classifiers.attributes import AttributeClassifier
from tagsight.classifiers.regions import BANDS, EmbeddedRegions
from tagsight.classifiers.regression import Linear
from tagsight.classifiers.score import ClassifierWeights, RegionClassifiers, RegionScores, score_regions
from tagsight.classifiers.smoothing import adjust_smoothing
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.transforms import Views

ALONE = ClassifierWeights(smoothing=0.0, height=0.0)


def score_photo(
    *,
    photo_log_odds: float = 5.0,
    bias: float = 0.0,
    fur: float = 1.0,
    weights: ClassifierWeights = ALONE,
    allowed: np.ndarray | None = None,
) -> RegionScores:
    labels = np.array([[0, 1, 2]], np.int32)
    features = np.eye(3, dtype=np.float16)
    photo = PhotoFeatures(features, labels, np.zeros((0, 2), int), np.zeros(0), (3, 1))
    regions = EmbeddedRegions([photo], Views(np.array([3]), np.ones(1), np.ones(1)), features.astype(np.float32))
    objects = Linear(np.array([[0, 4, 0], [0, 0, 4], [4, 0, 0]], np.float32), np.zeros(3, np.float32))
    photo_classifier = Linear(np.zeros((3, 2), np.float32), np.array([photo_log_odds, photo_log_odds], np.float32))
    attributes = Linear(fur * np.array([[2], [-1], [0]], np.float32), np.zeros(1, np.float32))
    attribute_classifier = AttributeClassifier(attributes, np.zeros((3, 1), np.float32), np.zeros((3, 1), np.float32))
    height_prior = np.zeros((3, BANDS), np.float32)
    height_prior[0, BANDS // 2] = 3.0
    classifiers = RegionClassifiers(photo_classifier, objects, attribute_classifier, height_prior, weights, 0.5, bias)
    return score_regions(regions, classifiers, allowed)


def test_each_region_has_the_class_of_its_object_classifier() -> None:
    assert score_photo().classes.argmax(axis=1).tolist() == [1, 2, 0]


def test_log_odds_are_those_of_the_softmax_probabilities() -> None:
    scores = score_photo()
    share = np.exp(scores.classes) / np.exp(scores.classes).sum(axis=1, keepdims=True)
    assert_allclose(scores.objects, np.log(share / (1 - share))[:, 1:], rtol=1e-6)


def test_the_photo_classifier_lowers_objects_but_never_raises_them() -> None:
    assert_allclose(score_photo(photo_log_odds=50.0).classes, score_photo(photo_log_odds=0.0).classes)
    assert_allclose(
        score_photo(photo_log_odds=-6.0).classes[:, 1:], score_photo(photo_log_odds=0.0).classes[:, 1:] - 3.0
    )


def test_the_photo_classifiers_log_odds_are_returned() -> None:
    assert score_photo(photo_log_odds=50.0).photo.tolist() == [[50.0, 50.0]]
    assert score_photo(photo_log_odds=-6.0).photo.tolist() == [[-6.0, -6.0]]


def test_the_bias_is_added_to_the_background() -> None:
    assert_allclose(score_photo(bias=2.5).margin, score_photo().margin - 2.5)


def test_the_height_prior_is_added_by_its_weight() -> None:
    assert_allclose(score_photo(weights=ALONE._replace(height=0.5)).margin, score_photo().margin - 1.5, rtol=1e-6)


def test_regions_with_similar_attributes_are_smoothed_together() -> None:
    by_appearance, by_both = (
        score_photo(weights=ALONE._replace(smoothing=0.9, attribute_distance=part)).classes for part in (0.0, 0.9)
    )
    assert_allclose(by_appearance[1, 1], by_appearance[1, 0])  # all regions are equally dissimilar
    assert (
        by_both[1, 0] > by_both[1, 1] + 0.1
    )  # the second has the attributes of the third, background, and not of the first


def test_smoothing_changes_classes_and_nothing_else() -> None:
    alone, smoothed = score_photo(), score_photo(weights=ALONE._replace(smoothing=0.9))
    assert np.abs(smoothed.classes - alone.classes).max() > 1.0
    for part in ("unsmoothed", "objects", "object_probability", "attributes", "attributes_by_object"):
        assert_allclose(getattr(smoothed, part), getattr(alone, part))


def test_smoothing_is_stronger_where_attributes_are_part_of_the_distance() -> None:
    for part, smoothing in ((0.0, 0.5), (0.3, adjust_smoothing(0.5, 0.3))):
        background = score_photo(fur=0.0, weights=ALONE._replace(smoothing=0.5, attribute_distance=part)).classes[:, 0]
        assert_allclose(
            np.ptp(background), 4.0 * (1.0 - smoothing) / (1.0 + smoothing / 2.0), rtol=1e-5
        )  # two regions at equal distance


def test_objects_that_are_not_allowed_are_excluded_and_others_unchanged() -> None:
    restricted = score_photo(allowed=np.array([[0, 1]]))
    assert np.isneginf(restricted.classes[:, 1]).all()
    assert np.isneginf(restricted.objects[:, 0]).all()
    assert_allclose(restricted.classes[:, [0, 2]], score_photo().classes[:, [0, 2]])
    assert np.isfinite(restricted.attributes).all()
