"""Free annotation: name the surest object of a photo and describe it, nothing being given.

The object is o* = argmax over `MethodPrediction.photo`. It is located at the region j* where `MethodPrediction.objects`
is highest. Its description is the t strongest attributes of `MethodPrediction.describe`. They are compared with the
instance of that class that covers most of region j*: correct attributes / t, and 0 where the photo has none.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tagsight.features.photo_features import PhotoFeatures
from tagsight_bench.evaluation.annotation import precision_at
from tagsight_bench.evaluation.method import MethodPrediction
from tagsight_bench.evaluation.truth import Instances, pick_overlapping

LENGTHS = (2, 5, 8)


class FreeAnnotation(NamedTuple):
    """Means over photos."""

    precision: dict[int, float]  # AP@t by t
    object_right: float  # share of the photos that have the object named


def score_free_annotation(
    photos: Sequence[PhotoFeatures],
    seen: Sequence[MethodPrediction],
    truth: Sequence[Instances],
    lengths: Sequence[int] = LENGTHS,
) -> FreeAnnotation:
    """AP@t of every length, and how often the object alone is right."""
    rows = [
        judge_description(photo, prediction, real, lengths)
        for photo, prediction, real in zip(photos, seen, truth, strict=True)
    ]
    precision = np.array([[0.0] * len(lengths) if row is None else row for row in rows]).mean(axis=0)
    return FreeAnnotation(
        dict(zip(lengths, precision.tolist(), strict=True)), float(np.mean([row is not None for row in rows]))
    )


def judge_description(
    photo: PhotoFeatures, seen: MethodPrediction, truth: Instances, lengths: Sequence[int]
) -> list[float] | None:
    """Precision at each length of the surest object's description; None where that object is not in the photo."""
    named = int(np.argmax(seen.photo))
    mine = np.flatnonzero(truth.objects == named)
    if len(mine) == 0:
        return None
    region = int(np.argmax(seen.objects[:, named]))
    real = truth.attributes[mine[pick_overlapping(photo, region, truth.boxes[mine])]]
    return [precision_at(seen.describe(named), real, t) for t in lengths]
