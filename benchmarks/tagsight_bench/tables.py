"""The tables: what each asks of a fitted method, and what it writes down. All figures are shares, not percent."""

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from tagsight.data.photo import read_photo
from tagsight.demo.mask_measures import (
    class_accuracy,
    count_confusion,
    intersection_over_union,
    mean_iou,
    mean_object_iou,
    pixel_accuracy,
)
from tagsight.predict.probabilities import add_background
from tagsight.predict.segment import refine_probabilities
from tagsight.types import Array, Ints
from tagsight_bench.evaluation.annotation import score_free_annotation, score_given_location, score_given_name
from tagsight_bench.evaluation.method import GuidedMethod, Method, MethodPrediction, Tags, TransductiveMethod
from tagsight_bench.evaluation.queries import score_queries
from tagsight_bench.evaluation.segmentation import count_label_confusion, label_without_background, restrict_objects
from tagsight_bench.predicted_tags import predict_objects
from tagsight_bench.query_lists import QueryLists
from tagsight_bench.trial import Trial

Figures = dict[str, Any]


class Candidate:
    """A fitted method before the photos it is judged on; it looks at them once, when first asked."""

    def __init__(self, method: Method, trial: Trial, queries: QueryLists, seed: int):
        self.method = method
        self.trial = trial
        self.queries = queries
        self.seed = seed
        self.predict_seconds: float | None = None

    @cached_property
    def seen(self) -> list[MethodPrediction]:
        """What it says, tags unknown."""
        start = time.perf_counter()
        seen = self.method.predict(self.trial.judge.photos)
        self.predict_seconds = time.perf_counter() - start
        return seen


class Table(NamedTuple):
    """A table of the bench."""

    part: str  # of the source
    attributes: tuple[int, ...]  # sizes of the attribute sets it is made with; those after the first for joint methods
    score: Callable[[Candidate], Figures | None]  # None: the method has no such ability


def score_annotation(candidate: Candidate) -> Figures:
    """Free annotation, given name, given location."""
    judge = candidate.trial.judge
    free = score_free_annotation(judge.photos, candidate.seen, judge.instances)
    location = score_given_location(candidate.method, judge.photos, judge.instances)
    return {
        "ap_at": {str(t): value for t, value in free.precision.items()},
        "object_right": free.object_right,
        "given_name_map": score_given_name(candidate.seen, judge.instances),
        "given_location_map": location.mean_ap,
        "given_location_auc": location.mean_auc,
    }


def score_retrieval(candidate: Candidate) -> Figures:
    """Both lists of queries, where there are any."""
    figures: Figures = {}
    for kind, queries in candidate.queries._asdict().items():
        if not queries:
            continue
        scores = score_queries(candidate.seen, candidate.trial.judge.instances, queries)
        figures[kind] = {
            "queries": len(queries),
            "mar": scores.mean_average_recall,
            "map": scores.mean_average_precision,
            "precision_at_recall": [round(value, 4) for value in scores.precision.tolist()],
        }
    return figures


def score_outlines(candidate: Candidate) -> Figures:
    """Outlines as they are painted."""
    return _measure_masks(candidate.trial, [prediction.labels for prediction in candidate.seen])


def score_refined(candidate: Candidate) -> Figures:
    """Outlines drawn to the edges of pixels by a dense CRF, from P(object | region); what is left is background."""
    trial = candidate.trial
    n_classes = len(trial.vocabulary.objects) + 1
    confusion = np.zeros((n_classes, n_classes), np.int64)
    for path, photo, prediction, mask in zip(
        trial.judge.paths, trial.judge.photos, candidate.seen, trial.judge.masks, strict=True
    ):
        if mask is not None:
            found = refine_probabilities(photo, add_background(expit(prediction.objects)), read_photo(path).pixels)
            confusion += count_confusion(mask, found, n_classes)
    return _measure_confusion(trial, confusion)


def score_inductive(candidate: Candidate) -> Figures:
    """A class for every region, each photo by itself."""
    return _measure_masks(candidate.trial, [label_without_background(prediction) for prediction in candidate.seen])


def score_transductive(candidate: Candidate) -> Figures | None:
    """A class for every region, the method learning from the new photos too."""
    if not isinstance(candidate.method, TransductiveMethod):
        return None
    seen = candidate.method.predict_transductive(candidate.trial.judge.photos)
    return _measure_masks(candidate.trial, [label_without_background(prediction) for prediction in seen])


def score_predict(candidate: Candidate) -> Figures:
    """A class for every region among those an SVM predicts for the photo.

    A method that can be told which tags a photo may have is told; of others, the barred scores are struck out.
    """
    trial = candidate.trial
    allowed = predict_objects(trial.learn, trial.judge.photos, seed=candidate.seed)
    seen = predict_within(candidate, allowed)
    return _measure_masks(trial, [label_without_background(prediction) for prediction in seen])


def predict_within(candidate: Candidate, allowed: Array) -> list[MethodPrediction]:
    """What the method says where only `allowed` (I, K_o) objects can be."""
    if isinstance(candidate.method, GuidedMethod):
        everything = candidate.trial.judge.tags.attributes * 0 + 1
        return candidate.method.predict_within(candidate.trial.judge.photos, Tags(allowed, everything))
    return [restrict_objects(prediction, row) for prediction, row in zip(candidate.seen, allowed, strict=True)]


def _measure_masks(trial: Trial, labels: list[Ints]) -> Figures:
    n_classes = len(trial.vocabulary.objects) + 1
    return _measure_confusion(trial, count_label_confusion(trial.judge.photos, labels, trial.judge.masks, n_classes))


def _measure_confusion(trial: Trial, confusion: Ints) -> Figures:
    names = ("background", *trial.vocabulary.objects)
    iou = intersection_over_union(confusion)
    return {
        "miou": mean_iou(confusion),
        "object_miou": mean_object_iou(confusion),
        "pixel_accuracy": pixel_accuracy(confusion),
        "class_accuracy": class_accuracy(confusion),
        "iou": {name: value for name, value in zip(names, iou.tolist(), strict=True) if value == value},
    }
