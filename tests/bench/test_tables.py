"""The scores of a method in each table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
import pytest
from PIL import Image

from tagsight.data.vocabulary import Vocabulary
from tagsight.demo.mask_measures import VOID
from tagsight.errors import InputError
from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array, Floats
from tagsight_bench.evaluation.method import MethodPrediction, Tags
from tagsight_bench.evaluation.truth import Instances
from tagsight_bench.methods import Entry, find_entry, make_method
from tagsight_bench.predicted_tags import pool_features, predict_objects
from tagsight_bench.query_lists import QueryLists
from tagsight_bench.tables import (
    Candidate,
    score_inductive,
    score_outlines,
    score_predict,
    score_refined,
    score_transductive,
)
from tagsight_bench.trial import Sample, Trial

from ..evaluation.cases import make_photo, make_prediction


def make_trial() -> Trial:
    """Two classes, the left and the right half of a photo; the first feature of a training photo determines its tag."""
    photo = make_photo(size=(8, 4), rows=1, columns=2)
    labels = [0, 1] * 10
    learn = [photo._replace(features=np.array([[2 * o - 1, 1]] * 2, np.float16)) for o in labels]
    mask = np.full((4, 8), 2, np.uint8)
    mask[0] = VOID
    make_candidate = learn[1]  # it shows class 2 alone
    tags = np.eye(2, dtype=np.uint8)[labels]
    none = Instances(np.zeros(0, int), np.zeros((0, 4), int), np.zeros((0, 0)))
    return Trial(
        Vocabulary(("a", "b"), ()),
        Sample(tuple(learn), Tags(tags, np.zeros((20, 0))), (none,) * 20, (mask,) * 20, (Path(),) * 20),
        Sample((make_candidate,), Tags(tags[1:2], np.zeros((1, 0))), (none,), (mask,), (Path(),)),
    )


class PlainMethod:
    """Labels the left half class 1 and the right half background; class 2 is more probable there than class 1."""

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        return [make_prediction([[3.0, -1.0], [-2.0, -1.0]], [[], []]) for _ in photos]

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        return np.zeros((len(boxes), 0))


class AdaptiveMethod(PlainMethod):
    """Can also adapt to new photos, and be restricted to allowed tags."""

    def predict_transductive(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        return [prediction._replace(classes=np.eye(3)[[2, 2]]) for prediction in self.predict(photos)]

    def predict_within(self, photos: Sequence[PhotoFeatures], allowed: Tags) -> list[MethodPrediction]:
        assert allowed.objects.tolist() == [[0, 1]]
        assert allowed.attributes.shape == (1, 0)
        return [prediction._replace(classes=np.eye(3)[[2, 1]]) for prediction in self.predict(photos)]


def make_candidate(method: PlainMethod) -> Candidate:
    return Candidate(method, make_trial(), QueryLists((), ()), 0)


def test_segmentation_uses_labels_as_predicted_and_inductive_has_no_background() -> None:
    assert score_outlines(make_candidate(PlainMethod()))["pixel_accuracy"] == 0
    assert score_inductive(make_candidate(PlainMethod()))["pixel_accuracy"] == 0.5
    assert score_inductive(make_candidate(PlainMethod()))["class_accuracy"] == 0.5


def test_refined_outlines_follow_the_pixels(tmp_path: Path) -> None:
    """Class 1 is the red half; its region ends a little before."""
    pixels = np.zeros((60, 80, 3), np.uint8)
    pixels[:, :40, 0] = pixels[:, 40:, 2] = 200
    Image.fromarray(pixels).save(tmp_path / "halves.png")
    trial = make_trial()
    regions = (np.arange(80) >= 36).astype(np.int32) * np.ones((60, 1), np.int32)
    photo = trial.test.photos[0]._replace(labels=regions, size=(80, 60))
    mask = (pixels[..., 0] > 0).astype(np.uint8)
    sample = trial.test._replace(photos=(photo,), masks=(mask,), paths=(tmp_path / "halves.png",))
    candidate = Candidate(PlainMethod(), trial._replace(test=sample), QueryLists((), ()), 0)
    assert score_outlines(candidate)["pixel_accuracy"] == 0.95
    assert score_refined(candidate)["pixel_accuracy"] == 1
    unmasked = trial._replace(test=sample._replace(masks=(None,)))
    assert np.isnan(score_refined(Candidate(PlainMethod(), unmasked, QueryLists((), ()), 0))["miou"])


def test_predicted_tags_restrict_the_method_or_its_scores() -> None:
    assert score_predict(make_candidate(PlainMethod()))["pixel_accuracy"] == 1  # class 1 is barred
    assert score_predict(make_candidate(AdaptiveMethod()))["pixel_accuracy"] == 0.5


def test_a_method_that_cannot_adapt_has_no_transductive_cell() -> None:
    assert score_transductive(make_candidate(PlainMethod())) is None
    figures = score_transductive(make_candidate(AdaptiveMethod()))
    assert figures is not None
    assert figures["pixel_accuracy"] == 1
    assert figures["iou"] == {"b": 1.0}


def test_predictions_are_computed_once_and_timed() -> None:
    candidate = make_candidate(PlainMethod())
    assert candidate.predict_seconds is None
    assert candidate.predictions is candidate.predictions
    assert candidate.predict_seconds is not None


def test_predicted_objects_have_a_positive_decision_or_the_highest() -> None:
    trial = make_trial()
    photos = [trial.train.photos[0], trial.train.photos[1]]
    assert predict_objects(trial.train, photos).tolist() == [[1, 0], [0, 1]]
    rare = trial.train._replace(tags=Tags(np.zeros((20, 2), np.uint8), trial.train.tags.attributes))
    rare.tags.objects[:, 1] = 1
    assert predict_objects(rare, photos).tolist() == [[0, 1], [0, 1]]  # never predictions, always predictions


def test_pooled_features_weigh_regions_by_area() -> None:
    photo = make_photo(size=(8, 4), rows=1, columns=2)
    labels = photo.labels.copy()
    labels[:, :] = 0
    labels[0, 0] = 1
    pooled = pool_features([photo._replace(features=np.array([[1, 0], [0, 1]], np.float16), labels=labels)])
    assert pooled[0, 1] / pooled[0, 0] == pytest.approx(1 / 7)
    assert np.linalg.norm(pooled[0]) == pytest.approx(1)


class SupervisedMethod(PlainMethod):
    """Stores its supervision."""

    def __init__(self, truth: object = None, *, strength: float = 1.0):
        self.truth = truth
        self.strength = strength


def test_methods_get_the_truth_of_their_supervision() -> None:
    sample = make_trial().train
    place = f"{__name__}:SupervisedMethod"
    for supervision, truth in (("tags", None), ("boxes", sample.instances), ("masks", sample.masks)):
        entry = Entry(place, {"strength": 2.0}, supervision)  # type: ignore[arg-type]
        method = make_method("x", entry, sample)
        assert (method.truth, method.strength) == (truth, 2.0)  # type: ignore[attr-defined]


def test_a_method_that_cannot_be_imported_is_named() -> None:
    for place in ("no.such.module:A", f"{__name__}:Nothing"):
        with pytest.raises(InputError, match="cannot be imported"):
            make_method("x", find_entry(place), make_trial().train)
