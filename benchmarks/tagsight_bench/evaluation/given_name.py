"""Given name: told that a photo has an object, describe it.

Every (photo, class) pair of the truth is one item. Its scores are `MethodPrediction.describe`: the attributes of the
region where the class is strongest, unless a method says more of a named object. An attribute
is true if any instance of that class in the photo has it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tagsight.demo.mask_measures import mean_defined
from tagsight.types import Array, Floats
from tagsight_bench.evaluation.method import MethodPrediction
from tagsight_bench.evaluation.ranking import average_precision, measure_columns
from tagsight_bench.evaluation.truth import Instances


class Described(NamedTuple):
    """Items with the scores of their attributes and the truth."""

    score: Floats  # (n, K_a)
    truth: Array  # (n, K_a) 0 or 1


def describe_named(seen: Sequence[MethodPrediction], truth: Sequence[Instances]) -> Described:
    """The items, photo by photo, classes in column order."""
    score: list[Floats] = []
    real: list[Array] = []
    for prediction, instances in zip(seen, truth, strict=True):
        for o in np.unique(instances.objects):
            score.append(prediction.describe(int(o)))
            real.append(instances.attributes[instances.objects == o].max(axis=0))
    return Described(np.array(score), np.array(real))


def score_given_name(seen: Sequence[MethodPrediction], truth: Sequence[Instances]) -> float:
    """Mean over attributes of the average precision over all pairs."""
    items = describe_named(seen, truth)
    return mean_defined(measure_columns(average_precision, items.score, items.truth))
