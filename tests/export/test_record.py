"""The record of a hand-made photo."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tagsight.export.record import ExportedPhoto, find_root, name_photo, record_photo
from tagsight.features.photo_features import PhotoFeatures
from tagsight.predict.predictor import Prediction
from tagsight.predict.segment import segment_objects
from tagsight.predict.trained_model import TrainedModel
from tagsight.regions import measure_adjacency

from .made import VOCABULARY

LABELS = np.array([[0, 0, 1, 2, 3, 3], [0, 4, 4, 4, 4, 3]], np.int32)
EDGES = measure_adjacency(LABELS)
PHOTO = PhotoFeatures(np.zeros((5, 1)), LABELS, EDGES.edges, EDGES.boundary, (12, 6))
POSTERIOR = Prediction(  # horse horse car horse nothing: the horse on the right is detached
    objects=np.array([[0.6, 0.1], [0.9, 0.1], [0.1, 0.7], [0.8, 0.1], [0.3, 0.2]]),
    attributes=np.array([[0.9, 0.9], [0.2, 0.6], [0.5, 0.4], [0.9, 0.8], [0.9, 0.9]]),
    free=np.zeros((5, 0)),
    weight=np.zeros(4),
    photo=np.array([0.95, 0.85]),
    attributes_by_object=np.zeros((2, 2)),
)


@pytest.fixture
def model() -> TrainedModel:
    nothing: tuple = (None,) * (len(TrainedModel._fields) - 1)
    return TrainedModel(VOCABULARY, *nothing)  # pyright: ignore


def record(model: TrainedModel, **options: float) -> ExportedPhoto:
    return record_photo(model, PHOTO, POSTERIOR, path=Path("p/a.jpg"), name="a.jpg", **options)  # pyright: ignore


def test_connected_pieces_are_instances_most_probable_first(model: TrainedModel) -> None:
    photo = record(model)
    left, right, car = photo.instances
    assert [one.name for one in photo.instances] == ["horse", "horse", "car"]
    assert [one.score for one in photo.instances] == [0.9, 0.8, 0.7]
    assert [one.category for one in photo.instances] == [0, 0, 1]
    assert (left.box, right.box, car.box) == ((0, 0, 6, 6), (8, 0, 12, 6), (6, 0, 8, 3))
    small = np.array([[1, 1, 1, 3, 2, 2], [1, 0, 0, 0, 0, 2]])
    assert_array_equal(photo.owner, small.repeat(3, axis=0).repeat(2, axis=1))
    assert_array_equal(photo.crop(1), photo.mask(1)[0:6, 8:12])


def test_attributes_are_those_of_the_clearest_region_above_the_threshold(model: TrainedModel) -> None:
    left, right, car = record(model).instances
    assert [(one.name, one.score) for one in left.attributes] == [("shiny", 0.6)]
    assert [(one.name, one.score) for one in right.attributes] == [("furry", 0.9), ("shiny", 0.8)]
    assert [one.name for one in car.attributes] == ["furry"]
    assert [len(one.attributes) for one in record(model, attribute_threshold=0.85).instances] == [0, 1, 0]


def test_without_connected_all_pieces_of_an_object_are_one_instance(model: TrainedModel) -> None:
    photo = record(model, connected=False)
    assert [(one.name, one.score, one.box) for one in photo.instances] == [
        ("horse", 0.9, (0, 0, 12, 6)),
        ("car", 0.7, (6, 0, 8, 3)),
    ]


@pytest.mark.parametrize("threshold", [0.0, 0.65, 0.95])
@pytest.mark.parametrize("connected", [True, False])
def test_instances_cover_the_labels_of_segment(model: TrainedModel, threshold: float, connected: bool) -> None:
    photo = record(model, threshold=threshold, connected=connected)
    classes = np.array([0, *(one.category + 1 for one in photo.instances)])[photo.owner]
    assert_array_equal(classes, segment_objects(PHOTO, POSTERIOR, threshold=threshold))


def test_names_of_exported_photos_are_distinct(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
    photos = [tmp_path / "x/a.jpg", tmp_path / "y/a.jpg"]
    assert find_root([tmp_path / "x"]) == tmp_path / "x"
    assert find_root(photos[:1]) == tmp_path / "x"
    assert name_photo(photos[0], tmp_path / "x") == "a.jpg"
    assert find_root([tmp_path / "x", tmp_path / "y"]) == find_root(photos) == tmp_path
    assert [name_photo(photo, tmp_path) for photo in photos] == ["x/a.jpg", "y/a.jpg"]
    assert find_root([tmp_path / "x/../y"]) == tmp_path / "y"
