"""Objects, attributes and segmentation from a hand-made posterior."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tagsight.data.vocabulary import Vocabulary
from tagsight.errors import InputError
from tagsight.features.photo_features import PhotoFeatures
from tagsight.predict.annotate import annotate_photo, describe_object, scale_boxes, select_regions
from tagsight.predict.predictor import Calibrations, Prediction, Predictor
from tagsight.predict.segment import label_regions, refine_objects, remove_improbable, segment_objects
from tagsight.predict.trained_model import TrainedModel

LABELS = np.array([[0, 0, 1, 1], [2, 2, 1, 1]], np.int32)
PHOTO = PhotoFeatures(np.zeros((3, 1)), LABELS, np.array([[0, 1]]), np.ones(1), (8, 4))
POSTERIOR = Prediction(
    objects=np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.1]]),
    attributes=np.array([[0.1, 0.7, 0.3], [0.9, 0.2, 0.6], [0.5, 0.5, 0.5]]),
    free=np.zeros((3, 0)),
    weight=np.zeros(5),
    photo=np.array([0.95, 0.85]),
    attributes_by_object=np.array([[0.2, 0.8, 0.4], [0.9, 0.1, 0.5]]),
)


@pytest.fixture
def model() -> TrainedModel:
    predictor = Predictor(None, None, Calibrations())  # pyright: ignore
    blank: tuple = (None,) * len(TrainedModel._fields)
    vocabulary = Vocabulary(("horse", "car"), ("shiny", "furry", "brown"))
    return TrainedModel(*blank)._replace(vocabulary=vocabulary, predictor=predictor)


def test_objects_are_sorted_by_probability_each_with_its_own_attributes(model: TrainedModel) -> None:
    horse, car = annotate_photo(model, PHOTO, POSTERIOR, n_attributes=2)
    assert (horse.name, horse.score, horse.region) == ("horse", 0.95, 0)
    assert [a.name for a in horse.attributes] == ["furry", "brown"]
    assert (car.name, car.score, car.region) == ("car", 0.85, 1)
    assert [a.name for a in car.attributes] == ["shiny", "brown"]


def test_the_best_region_has_the_probability_of_the_object_in_the_photo() -> None:
    assert_allclose(POSTERIOR.presence_by_region[:, 0], [0.95, 0.95 * 0.2 / 0.9, 0.95 * 0.3 / 0.9])
    restricted = POSTERIOR._replace(objects=POSTERIOR.objects * [1, 0])
    assert_array_equal(restricted.presence_by_region[:, 1], 0)


def test_the_threshold_leaves_out_objects_and_attributes(model: TrainedModel) -> None:
    (horse,) = annotate_photo(model, PHOTO, POSTERIOR, threshold=0.9)
    assert (horse.name, horse.attributes) == ("horse", ())


def test_boxes_are_those_of_the_whole_photo() -> None:
    assert scale_boxes(PHOTO) == [(0, 0, 4, 2), (4, 0, 8, 4), (0, 2, 4, 4)]


def test_a_named_object_is_described_inside_a_box(model: TrainedModel) -> None:
    assert describe_object(model, PHOTO, POSTERIOR, "horse").region == 0
    inside = describe_object(model, PHOTO, POSTERIOR, "horse", box=(0, 0, 4, 2))
    assert inside.attributes[0] == ("furry", 0.7)  # there, 0.8 in all
    assert describe_object(model, PHOTO, POSTERIOR, "horse", box=(0, 2, 4, 4)).region == 2
    with pytest.raises(InputError, match="has no object 'cow'; its objects are horse, car"):
        describe_object(model, PHOTO, POSTERIOR, "cow")


def test_a_box_selects_regions_half_inside_or_the_one_most_inside() -> None:
    assert_array_equal(select_regions(PHOTO, (0, 0, 6, 2)), [True, False, False])
    assert_array_equal(select_regions(PHOTO, (6, 2, 8, 4)), [False, True, False])
    with pytest.raises(InputError, match="does not fit a photo of 8 x 4"):
        select_regions(PHOTO, (0, 0, 9, 4))


def test_segments_have_the_size_of_the_photo_and_background_below_the_threshold() -> None:
    mask = segment_objects(PHOTO, POSTERIOR, threshold=0.7)
    assert mask.shape == (4, 8)
    assert mask.dtype == np.uint8
    expected = np.array([[1, 1, 2, 2], [0, 0, 2, 2]]).repeat(2, axis=0).repeat(2, axis=1)
    assert_array_equal(mask, expected)


def test_refined_segments_are_the_same_where_photo_and_regions_agree() -> None:
    sure = POSTERIOR._replace(objects=np.array([[0.99, 0.01], [0.0, 0.99], [0.99, 0.0]]))
    striped = np.full((2, 4, 3), 90, np.uint8)
    striped[:, 2:] = 220
    mask = refine_objects(PHOTO, sure, striped, threshold=0.01)
    assert mask.dtype == np.uint8
    assert_array_equal(mask, segment_objects(PHOTO, sure, threshold=0.01))
    whole = refine_objects(PHOTO, POSTERIOR._replace(objects=np.full((3, 2), 0.3)), striped, threshold=0.5)
    assert_array_equal(whole, np.zeros((4, 8)))


@pytest.mark.parametrize("threshold", [0.0, 0.05, 0.3, 0.6, 1.0])
def test_the_threshold_chooses_the_same_labels_with_and_without_refinement(threshold: float) -> None:
    objects = np.random.default_rng(0).dirichlet(np.ones(4), size=500)[:, :3]
    refined = remove_improbable(objects, threshold)
    assert_array_equal(refined.argmax(axis=1), label_regions(objects, threshold=threshold))
    if threshold == 0:
        assert_allclose(refined.sum(axis=1), 1)
        assert_array_equal(refined[:, 1:], objects)
    removed = objects < threshold
    assert not refined[:, 1:][removed].any()
    assert (refined.sum(axis=1) > 0).all()
