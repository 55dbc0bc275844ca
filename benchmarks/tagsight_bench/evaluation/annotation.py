"""Annotation protocols: free annotation, given name and given location.

**Free annotation** (AP@t). A method names the most probable object of each photo and describes it. The object is
o* = argmax over `MethodPrediction.photo`, located at the region j* where `MethodPrediction.objects` is highest. Its
description is the t strongest attributes of `MethodPrediction.describe`. They are compared with the instance of that
class that covers most of region j*: correct attributes / t, and 0 where the photo has no instance of the class.

**Given name** (GN). Every (photo, class) pair of the truth is one item, scored by `MethodPrediction.describe`. An
attribute is true if any instance of that class in the photo has it.

**Given location** (GL). Every box of the truth is one item, scored by `Method.describe_boxes`.

**Within a class.** Boxes of one class are ranked by one attribute, as in given location. The figure is the mean of the
area under the ROC curve over all pairs of a class and an attribute with at least FEWEST_BOXES boxes with and without
it. A method that only knows the class of a box, and what its class usually has, scores 50%.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array, Floats
from tagsight_bench.evaluation.mask_measures import average_defined
from tagsight_bench.evaluation.method import Method, MethodPrediction
from tagsight_bench.evaluation.ranking import area_under_roc, average_precision, measure_columns
from tagsight_bench.evaluation.truth import Instances, pick_overlapping

LENGTHS = (2, 5, 8)
FEWEST_BOXES = 10  # of a class, with an attribute and without it


class FreeAnnotation(NamedTuple):
    """Means over photos."""

    precision: dict[int, float]  # AP@t by t
    object_right: float  # share of photos that have the object named


class GivenNameItems(NamedTuple):
    """Attribute scores and truth of (photo, class) pairs."""

    score: Floats  # (n, K_a)
    truth: Array  # (n, K_a) 0 or 1


class GivenLocation(NamedTuple):
    """Means over attributes, and over pairs of a class and an attribute."""

    mean_ap: float
    mean_auc: float
    within_class_auc: float  # nan without such pairs


def score_free_annotation(
    photos: Sequence[PhotoFeatures],
    predictions: Sequence[MethodPrediction],
    truth: Sequence[Instances],
    lengths: Sequence[int] = LENGTHS,
) -> FreeAnnotation:
    """AP@t for every length, and the accuracy of the object alone."""
    rows = [
        score_description(photo, prediction, instances, lengths)
        for photo, prediction, instances in zip(photos, predictions, truth, strict=True)
    ]
    precision = np.array([[0.0] * len(lengths) if row is None else row for row in rows]).mean(axis=0)
    return FreeAnnotation(
        dict(zip(lengths, precision.tolist(), strict=True)), float(np.mean([row is not None for row in rows]))
    )


def score_description(
    photo: PhotoFeatures, prediction: MethodPrediction, truth: Instances, lengths: Sequence[int]
) -> list[float] | None:
    """Precision of the most probable object's description at each length; None where the photo lacks that object."""
    named = int(np.argmax(prediction.photo))
    of_class = np.flatnonzero(truth.objects == named)
    if len(of_class) == 0:
        return None
    region = int(np.argmax(prediction.objects[:, named]))
    attributes = truth.attributes[of_class[pick_overlapping(photo, region, truth.boxes[of_class])]]
    return [precision_at(prediction.describe(named), attributes, t) for t in lengths]


def precision_at(score: Array, truth: Array, t: int) -> float:
    """Share of true entries (`truth` (K,)) among the t highest of `score` (K,); among ties the earlier column wins.

    The divisor is t even where fewer entries are true, or K is smaller.
    """
    first = np.argsort(-score, kind="stable")[:t]
    return float(np.sum(truth[first] != 0) / t)


def list_given_name(predictions: Sequence[MethodPrediction], truth: Sequence[Instances]) -> GivenNameItems:
    """The items of given name, photo by photo, classes in column order."""
    score: list[Floats] = []
    true_attributes: list[Array] = []
    for prediction, instances in zip(predictions, truth, strict=True):
        for o in np.unique(instances.objects):
            score.append(prediction.describe(int(o)))
            true_attributes.append(instances.attributes[instances.objects == o].max(axis=0))
    return GivenNameItems(np.array(score), np.array(true_attributes))


def score_given_name(predictions: Sequence[MethodPrediction], truth: Sequence[Instances]) -> float:
    """Mean over attributes of the average precision over all pairs."""
    items = list_given_name(predictions, truth)
    return average_defined(measure_columns(average_precision, items.score, items.truth))


def score_given_location(method: Method, photos: Sequence[PhotoFeatures], truth: Sequence[Instances]) -> GivenLocation:
    """Attribute rankings over all true boxes."""
    boxed = [pair for pair in zip(photos, truth, strict=True) if len(pair[1].boxes)]
    score = np.concatenate([method.describe_boxes(photo, instances.boxes) for photo, instances in boxed])
    attributes = np.concatenate([instances.attributes for _, instances in boxed])
    objects = np.concatenate([instances.objects for _, instances in boxed])
    return GivenLocation(
        average_defined(measure_columns(average_precision, score, attributes)),
        average_defined(measure_columns(area_under_roc, score, attributes)),
        score_within_classes(score, attributes, objects),
    )


def score_within_classes(score: Floats, attributes: Array, objects: Array) -> float:
    """Mean area under the ROC curve within classes, of scores (n, K_a) of boxes with `attributes` (n, K_a).

    `objects` (n,) is the class of each box. nan without a pair of a class and an attribute that has enough boxes.
    """
    areas: list[float] = []
    for o in np.unique(objects):
        of_class = objects == o
        truth = attributes[of_class] != 0
        enough = np.minimum(truth.sum(axis=0), (~truth).sum(axis=0)) >= FEWEST_BOXES
        areas += measure_columns(area_under_roc, score[of_class][:, enough], truth[:, enough]).tolist()
    return float(np.mean(areas)) if areas else float("nan")
