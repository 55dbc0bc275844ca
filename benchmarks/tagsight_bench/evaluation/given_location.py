"""Given location: told where an object is, describe it. Every box of the truth is one item."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tagsight.demo.mask_measures import mean_defined
from tagsight.features.photo_features import PhotoFeatures
from tagsight_bench.evaluation.method import Method
from tagsight_bench.evaluation.ranking import area_under_roc, average_precision, measure_columns
from tagsight_bench.evaluation.truth import Instances


class GivenLocation(NamedTuple):
    """Means over attributes."""

    mean_ap: float
    mean_auc: float


def score_given_location(method: Method, photos: Sequence[PhotoFeatures], truth: Sequence[Instances]) -> GivenLocation:
    """What the method says of the boxes, against the attributes of the instances in them."""
    boxed = [pair for pair in zip(photos, truth, strict=True) if len(pair[1].boxes)]
    score = np.concatenate([method.describe_boxes(photo, instances.boxes) for photo, instances in boxed])
    real = np.concatenate([instances.attributes for _, instances in boxed])
    return GivenLocation(
        mean_defined(measure_columns(average_precision, score, real)),
        mean_defined(measure_columns(area_under_roc, score, real)),
    )
