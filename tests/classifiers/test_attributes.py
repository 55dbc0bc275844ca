"""Attributes of objects and regions follow their equations, and are learned from the objects that support them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tagsight.classifiers.attributes import (
    LOGIT_SCALE,
    AttributeClassifier,
    LabelledBags,
    LabelledRegions,
    describe_parts,
    describe_photo,
    fit_attribute_classifier,
    predict_attributes,
    score_attribute_likelihood,
)
from tagsight.classifiers.regression import Linear
from tagsight.classifiers.rows import InMemoryRows
from tagsight.data.vocabulary import Tags

X = np.eye(4, dtype=np.float32)
ALONE = np.array([[4.0], [0.0], [-2.0], [7.0]])
AREA = np.array([0.3, 0.1, 0.2, 0.4])
SHARE = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
PRIOR = np.array([[0.5], [2.0], [-3.0]], np.float32)


@pytest.fixture
def classifier() -> AttributeClassifier:
    return AttributeClassifier(Linear(ALONE.astype(np.float32), np.zeros(1, np.float32)), PRIOR * 9, PRIOR)


def test_the_odds_of_an_object_are_the_mean_odds_of_its_regions_times_the_prior(
    classifier: AttributeClassifier,
) -> None:
    described = describe_photo(classifier, X, SHARE, AREA)
    first = np.log(0.75 * np.exp(4.0) + 0.25) + 2.0
    assert_allclose(described.objects.ravel(), [first, -2.0 - 3.0])


def test_a_region_mixes_the_attributes_of_its_likely_objects_with_its_own(classifier: AttributeClassifier) -> None:
    described = describe_photo(classifier, X, SHARE, AREA)
    first, second = described.objects.ravel()
    assert_allclose(described.regions.ravel(), [first, first, second, 7.0 + 0.5])
    half = describe_photo(classifier, X, 0.5 * SHARE, AREA)
    assert_allclose(half.objects, described.objects)
    assert_allclose(half.regions[0], 0.5 * first + 0.5 * (4.0 + 0.5))


def test_an_object_without_regions_has_finite_log_odds(classifier: AttributeClassifier) -> None:
    described = describe_photo(classifier, X, np.zeros((4, 2)), AREA)
    assert np.isfinite(described.objects).all()
    assert_allclose(described.regions, ALONE + 0.5)


def test_background_regions_have_no_weight_in_a_part_with_objects(classifier: AttributeClassifier) -> None:
    weight = np.array([[0.25, 0.0, 0.25, 0.5], [0.0, 0.0, 0.0, 1.0]])
    parts = describe_parts(classifier, X, SHARE, weight)
    assert_allclose(parts[0], np.log(0.5 * np.exp(4.0) + 0.5 * np.exp(-2.0)) + (0.5 * 2.0 - 0.5 * 3.0))
    assert_allclose(parts[1], 7.0, atol=1e-6)


def test_the_attribute_likelihood_is_highest_for_the_object_with_these_attributes() -> None:
    regions = Linear(np.array([[3.0, -3.0], [-3.0, 3.0], [-4.0, -4.0]], np.float32), np.zeros(2, np.float32))
    prior_log_odds = np.array([[-5.0, -5.0], [2.0, -2.0], [-1.0, 1.5]], np.float32)
    classifier = AttributeClassifier(regions, prior_log_odds, prior_log_odds * 9)
    scores = score_attribute_likelihood(classifier, predict_attributes(classifier, np.eye(3, dtype=np.float32)))
    q, P = (
        1 / (1 + np.exp(-LOGIT_SCALE * regions.weights.astype(float))),
        1 / (1 + np.exp(-prior_log_odds.astype(float))),
    )
    for j in range(3):
        for o in range(3):
            expected = sum(q[j, a] * np.log(P[o, a]) + (1 - q[j, a]) * np.log(1 - P[o, a]) for a in range(2))
            assert scores[j, o] == pytest.approx(expected, abs=1e-4)
    assert scores.argmax(axis=1).tolist() == [1, 2, 0]


def test_without_attributes_the_attribute_likelihood_is_constant() -> None:
    empty = AttributeClassifier(Linear(np.zeros((3, 0)), np.zeros(0)), np.zeros((4, 0)), np.zeros((4, 0)))
    assert_allclose(score_attribute_likelihood(empty, predict_attributes(empty, np.eye(3))), np.zeros((3, 4)))


def fit_planted(n_photos: int = 400) -> tuple[AttributeClassifier, np.ndarray]:
    """Horses (0) are furry (0) or not, which is visible; cars (1) are metal (1), and are in half of the photos."""
    rng = np.random.default_rng(0)
    directions = np.eye(6, dtype=np.float32)  # horse body, fur, car, wheel, sky, nothing
    furry, car = rng.random(n_photos) < 0.5, rng.random(n_photos) < 0.5
    vectors, photo, labels = [], [], []
    for i in range(n_photos):
        kinds = [0, 1 if furry[i] else 0, *([2, 3] if car[i] else []), 4]
        vectors.append(directions[kinds])
        photo += [i] * len(kinds)
        labels += [1, 1, *([2, 2] if car[i] else []), 0]
    tags = Tags(np.stack([np.ones(n_photos), car], axis=1), np.stack([furry, car], axis=1).astype(float))
    regions = LabelledRegions(np.array(photo), np.array(labels), np.full(len(labels), 0.2))
    return fit_attribute_classifier(InMemoryRows(np.concatenate(vectors)), regions, tags, 1.0), directions


def test_bags_are_the_same_for_any_blocks_of_rows() -> None:
    rows = np.arange(14, dtype=np.float32).reshape(7, 2)
    regions = LabelledRegions(
        np.array([0, 0, 0, 1, 1, 2, 2]), np.array([2, 0, 2, 1, 1, 0, 3]), np.array([0.1, 0.6, 0.3, *[0.5] * 4])
    )

    class Blocks:
        shape = (7, 2)

        def blocks(self):
            yield rows[:3]
            yield rows[3:]

    for bags in (LabelledBags(InMemoryRows(rows), regions), LabelledBags(Blocks(), regions)):
        assert list(zip(bags.photo.tolist(), bags.label.tolist(), strict=True)) == [
            (0, 0),
            (0, 2),
            (1, 1),
            (2, 0),
            (2, 3),
        ]
        found = [
            part for block in bags for part in zip(*(np.split(a, block.first[1:-1]) for a in block[:2]), strict=True)
        ]
        assert [X[:, 0].tolist() for X, _ in found] == [[2], [0, 4], [6, 8], [10], [12]]
        assert_allclose(np.concatenate([share for _, share in found]), [1, 0.25, 0.75, 0.5, 0.5, 1, 1])


def test_attributes_are_learned_from_the_object_that_supports_them() -> None:
    classifier, directions = fit_planted()
    horse, fur, car, wheel, _, _ = classifier.regions.score(directions)
    assert fur[0] > horse[0] + 2
    assert min(car[1], wheel[1]) > max(horse[1], fur[1]) + 2
    assert fur[0] > max(car[0], wheel[0]) + 2
    for _, of_horses, of_cars in (classifier.observed_log_odds, classifier.prior_log_odds):
        assert abs(of_horses[0]) < 0.3  # half of the horses are furry
        assert of_cars[1] > 3
        assert of_horses[1] < -1
        assert of_cars[0] < -1


def test_more_photos_give_larger_weights() -> None:
    few, many = (np.linalg.norm(fit_planted(n)[0].regions.weights) for n in (40, 800))
    assert many > 1.2 * few


def test_background_has_no_attribute() -> None:
    classifier, directions = fit_planted()
    scores = classifier.regions.score(directions)
    assert (scores[4] < scores[:4].max(axis=0) - 2).all()
    assert (classifier.prior_log_odds[0] <= classifier.prior_log_odds[1:].min()).all()


def test_without_located_objects_all_attributes_are_unlikely() -> None:
    regions = LabelledRegions(np.zeros(1, int), np.zeros(1, int), np.ones(1))
    tags = Tags(np.zeros((1, 2)), np.zeros((1, 3)))
    classifier = fit_attribute_classifier(InMemoryRows(np.ones((1, 1), np.float32)), regions, tags, 0.5)
    assert (describe_photo(classifier, np.ones((1, 1)), np.zeros((1, 2)), np.ones(1)).regions < 0).all()
