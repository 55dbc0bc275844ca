"""The tables: how each scores a fitted method. All figures are shares, not percent."""

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from tagsight.data.photo import read_photo
from tagsight.demo.mask_measures import compute_iou, count_confusion
from tagsight.predict.probabilities import add_background
from tagsight.predict.segment import refine_probabilities
from tagsight.types import Array, Ints
from tagsight_bench.evaluation.annotation import score_free_annotation, score_given_location, score_given_name
from tagsight_bench.evaluation.mask_measures import class_accuracy, mean_iou, mean_object_iou, pixel_accuracy
from tagsight_bench.evaluation.method import GuidedMethod, Method, MethodPrediction, Tags, TransductiveMethod
from tagsight_bench.evaluation.queries import score_queries
from tagsight_bench.evaluation.segmentation import count_label_confusion, label_without_background, restrict_objects
from tagsight_bench.predicted_tags import predict_objects
from tagsight_bench.query_lists import QueryLists
from tagsight_bench.trial import Trial

Figures = dict[str, Any]


class Candidate:
    """A fitted method, and its predictions for the test photos, which are computed once."""

    def __init__(self, method: Method, trial: Trial, queries: QueryLists, seed: int):
        self.method = method
        self.trial = trial
        self.queries = queries
        self.seed = seed
        self.predict_seconds: float | None = None

    @cached_property
    def predictions(self) -> list[MethodPrediction]:
        """The predictions for the test photos without tags."""
        start = time.perf_counter()
        predictions = self.method.predict(self.trial.test.photos)
        self.predict_seconds = time.perf_counter() - start
        return predictions


class Table(NamedTuple):
    """A table of the benchmark."""

    part: str  # of the source
    attributes: tuple[int, ...]  # sizes of its attribute sets; those after the first for joint methods only
    score: Callable[[Candidate], Figures | None]  # returns None if the method cannot do it


def score_annotation(candidate: Candidate) -> Figures:
    """Free annotation, given name and given location."""
    test = candidate.trial.test
    free = score_free_annotation(test.photos, candidate.predictions, test.instances)
    location = score_given_location(candidate.method, test.photos, test.instances)
    return {
        "ap_at": {str(t): value for t, value in free.precision.items()},
        "object_right": free.object_right,
        "given_name_map": score_given_name(candidate.predictions, test.instances),
        "given_location_map": location.mean_ap,
        "given_location_auc": location.mean_auc,
        "within_class_auc": None if np.isnan(location.within_class_auc) else location.within_class_auc,
    }


def score_retrieval(candidate: Candidate) -> Figures:
    """Both lists of queries, if they are not empty."""
    figures: Figures = {}
    for kind, queries in candidate.queries._asdict().items():
        if not queries:
            continue
        scores = score_queries(candidate.predictions, candidate.trial.test.instances, queries)
        figures[kind] = {
            "queries": len(queries),
            "mar": scores.mean_average_recall,
            "map": scores.mean_average_precision,
            "precision_at_recall": [round(value, 4) for value in scores.precision.tolist()],
        }
    return figures


def score_outlines(candidate: Candidate) -> Figures:
    """Segmentation of the regions."""
    return _measure_masks(candidate.trial, [prediction.labels for prediction in candidate.predictions])


def score_refined(candidate: Candidate) -> Figures:
    """Segmentation refined to the edges of pixels by a dense CRF, from P(object | region) and background."""
    trial = candidate.trial
    n_classes = len(trial.vocabulary.objects) + 1
    confusion = np.zeros((n_classes, n_classes), np.int64)
    for path, photo, prediction, mask in zip(
        trial.test.paths, trial.test.photos, candidate.predictions, trial.test.masks, strict=True
    ):
        if mask is not None:
            found = refine_probabilities(photo, add_background(expit(prediction.objects)), read_photo(path).pixels)
            confusion += count_confusion(mask, found, n_classes)
    return _measure_confusion(trial, confusion)


def score_inductive(candidate: Candidate) -> Figures:
    """A class for every region, each photo on its own."""
    return _measure_masks(
        candidate.trial, [label_without_background(prediction) for prediction in candidate.predictions]
    )


def score_transductive(candidate: Candidate) -> Figures | None:
    """A class for every region, after adapting the method to the test photos."""
    if not isinstance(candidate.method, TransductiveMethod):
        return None
    predictions = candidate.method.predict_transductive(candidate.trial.test.photos)
    return _measure_masks(candidate.trial, [label_without_background(prediction) for prediction in predictions])


def score_predict(candidate: Candidate) -> Figures:
    """A class for every region, among those that an SVM predicts for the photo.

    A method that can be restricted to tags is restricted; of other methods, scores of other classes are removed.
    """
    trial = candidate.trial
    allowed = predict_objects(trial.train, trial.test.photos, seed=candidate.seed)
    predictions = predict_within(candidate, allowed)
    return _measure_masks(trial, [label_without_background(prediction) for prediction in predictions])


def predict_within(candidate: Candidate, allowed: Array) -> list[MethodPrediction]:
    """The predictions with only the `allowed` (I, K_o) objects."""
    if isinstance(candidate.method, GuidedMethod):
        everything = candidate.trial.test.tags.attributes * 0 + 1
        return candidate.method.predict_within(candidate.trial.test.photos, Tags(allowed, everything))
    return [restrict_objects(prediction, row) for prediction, row in zip(candidate.predictions, allowed, strict=True)]


def _measure_masks(trial: Trial, labels: list[Ints]) -> Figures:
    n_classes = len(trial.vocabulary.objects) + 1
    return _measure_confusion(trial, count_label_confusion(trial.test.photos, labels, trial.test.masks, n_classes))


def _measure_confusion(trial: Trial, confusion: Ints) -> Figures:
    names = ("background", *trial.vocabulary.objects)
    iou = compute_iou(confusion)
    return {
        "miou": mean_iou(confusion),
        "object_miou": mean_object_iou(confusion),
        "pixel_accuracy": pixel_accuracy(confusion),
        "class_accuracy": class_accuracy(confusion),
        "iou": {name: value for name, value in zip(names, iou.tolist(), strict=True) if value == value},
    }
