"""A reading of a photo from readers made by hand."""

import numpy as np
from numpy.testing import assert_allclose

from tagsight.classifiers.attributes import AttributeClassifier
from tagsight.classifiers.fit import RegionClassifiers
from tagsight.classifiers.height_prior import BANDS
from tagsight.classifiers.regions import Regions
from tagsight.classifiers.regression import Linear
from tagsight.classifiers.score import RegionScores, score_regions
from tagsight.classifiers.smoothing import adjust_smoothing
from tagsight.classifiers.weights import ClassifierWeights
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.views import Views

ALONE = ClassifierWeights(smoothing=0.0, height=0.0)


def read(
    *,
    gate: float = 5.0,
    bias: float = 0.0,
    fur: float = 1.0,
    weights: ClassifierWeights = ALONE,
    allowed: np.ndarray | None = None,
) -> RegionScores:
    labels = np.array([[0, 1, 2]], np.int32)
    features = np.eye(3, dtype=np.float16)
    photo = PhotoFeatures(features, labels, np.zeros((0, 2), int), np.zeros(0), (3, 1))
    regions = Regions([photo], Views(np.array([3]), np.ones(1), np.ones(1)), features.astype(np.float32))
    objects = Linear(np.array([[0, 4, 0], [0, 0, 4], [4, 0, 0]], np.float32), np.zeros(3, np.float32))
    photo_classifier = Linear(np.zeros((3, 2), np.float32), np.array([gate, gate], np.float32))
    attributes = Linear(fur * np.array([[2], [-1], [0]], np.float32), np.zeros(1, np.float32))
    reader = AttributeClassifier(attributes, np.zeros((3, 1), np.float32), np.zeros((3, 1), np.float32))
    height_prior = np.zeros((3, BANDS), np.float32)
    height_prior[0, BANDS // 2] = 3.0
    classifiers = RegionClassifiers(photo_classifier, objects, reader, height_prior, weights, 0.5, bias)
    return score_regions(regions, classifiers, allowed)


def test_each_region_is_what_its_reader_says() -> None:
    assert read().classes.argmax(axis=1).tolist() == [1, 2, 0]


def test_log_odds_are_those_of_the_softmax() -> None:
    reading = read()
    share = np.exp(reading.classes) / np.exp(reading.classes).sum(axis=1, keepdims=True)
    assert_allclose(reading.objects, np.log(share / (1 - share))[:, 1:], rtol=1e-6)


def test_a_photos_doubt_lowers_objects_and_its_confidence_does_not_raise_them() -> None:
    assert_allclose(read(gate=50.0).classes, read(gate=0.0).classes)
    assert_allclose(read(gate=-6.0).classes[:, 1:], read(gate=0.0).classes[:, 1:] - 3.0)


def test_a_photos_confidence_is_told_beside_its_regions() -> None:
    assert read(gate=50.0).whole.tolist() == [[50.0, 50.0]]
    assert read(gate=-6.0).whole.tolist() == [[-6.0, -6.0]]


def test_the_bias_is_the_backgrounds() -> None:
    assert_allclose(read(bias=2.5).margin, read().margin - 2.5)


def test_the_height_of_a_region_speaks_for_what_lies_there() -> None:
    assert_allclose(read(weights=ALONE._replace(height=0.5)).margin, read().margin - 1.5, rtol=1e-6)


def test_regions_described_alike_are_kin() -> None:
    by_looks, by_both = (
        read(weights=ALONE._replace(smoothing=0.9, attribute_distance=part)).classes for part in (0.0, 0.9)
    )
    assert_allclose(by_looks[1, 1], by_looks[1, 0])  # regions are as unlike each other in looks
    assert by_both[1, 0] > by_both[1, 1] + 0.1  # the second is described like the third, background, not the first


def test_kin_outline_objects_and_do_not_describe_them() -> None:
    alone, among_kin = read(), read(weights=ALONE._replace(smoothing=0.9))
    assert np.abs(among_kin.classes - alone.classes).max() > 1.0
    for part in ("own", "objects", "shares", "attributes", "attributes_by_object"):
        assert_allclose(getattr(among_kin, part), getattr(alone, part))


def test_scores_flow_more_among_kin_by_attributes_than_by_looks_alone() -> None:
    for part, smoothing in ((0.0, 0.5), (0.3, adjust_smoothing(0.5, 0.3))):
        background = read(fur=0.0, weights=ALONE._replace(smoothing=0.5, attribute_distance=part)).classes[:, 0]
        assert_allclose(
            np.ptp(background), 4.0 * (1.0 - smoothing) / (1.0 + smoothing / 2.0), rtol=1e-5
        )  # two kin, as near


def test_what_is_barred_is_nowhere_and_the_rest_is_as_before() -> None:
    barred = read(allowed=np.array([[0, 1]]))
    assert np.isneginf(barred.classes[:, 1]).all()
    assert np.isneginf(barred.objects[:, 0]).all()
    assert_allclose(barred.classes[:, [0, 2]], read().classes[:, [0, 2]])
    assert np.isfinite(barred.attributes).all()
