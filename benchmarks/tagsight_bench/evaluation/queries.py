"""Queries: rank photos by an object with one or more attributes ("furry brown horse").

A photo's score is the maximum over its regions of the product of the object's probability and each attribute's:
max_j P(o | j) P(a1 | j) ..., where log P(o | j) is `MethodPrediction.log_joint` for all methods. It is computed as a
sum of logarithms, which gives the same ranking without underflow.
A photo is relevant if one of its instances has the object and all attributes of the query.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from tagsight.types import Array, Floats
from tagsight_bench.evaluation.mask_measures import average_defined
from tagsight_bench.evaluation.method import MethodPrediction
from tagsight_bench.evaluation.ranking import (
    average_precision,
    average_recall,
    interpolate_precision,
    measure_columns,
    trace_curve,
)
from tagsight_bench.evaluation.truth import Instances

RECALLS = np.linspace(0.0, 1.0, 101)


class Query(NamedTuple):
    """An object and its attributes, as ascending columns of the vocabulary."""

    object: int
    attributes: tuple[int, ...]


class QueryScores(NamedTuple):
    """Means over queries."""

    mean_average_recall: float
    mean_average_precision: float
    precision: Floats  # (101,) interpolated, at RECALLS


def list_answerable(truth: Iterable[Instances], n_attributes: int) -> list[Query]:
    """Queries of `n_attributes` attributes with at least one matching instance, sorted."""
    answerable = {
        Query(int(o), combination)
        for instances in truth
        for o, attributes in zip(instances.objects, instances.attributes, strict=True)
        for combination in combinations(np.flatnonzero(attributes).tolist(), n_attributes)
    }
    return sorted(answerable)


def draw_queries(truth: Iterable[Instances], n_attributes: int, *, count: int, seed: int) -> list[Query]:
    """`count` different answerable queries, sorted; all of them if there are fewer."""
    known = list_answerable(truth, n_attributes)
    chosen = np.random.default_rng(seed).permutation(len(known))[:count]
    return [known[place] for place in np.sort(chosen)]


def score_photos(predictions: Sequence[MethodPrediction], queries: Sequence[Query]) -> Floats:
    """(I, Q) log score of each photo for each query."""
    objects = [query.object for query in queries]
    attributes = np.array([query.attributes for query in queries]).T  # (attributes of a query, Q)
    scores = np.empty((len(predictions), len(queries)))
    for row, prediction in zip(scores, predictions, strict=True):
        log_object, log_attribute = prediction.log_joint, -np.logaddexp(0.0, -prediction.attributes)
        row[:] = (log_object[:, objects] + sum(log_attribute[:, columns] for columns in attributes)).max(axis=0)
    return scores


def find_relevant(truth: Sequence[Instances], queries: Sequence[Query]) -> Array:
    """(I, Q) whether one instance of the photo matches the query."""
    objects = np.array([query.object for query in queries])
    attributes = np.array([query.attributes for query in queries])
    return np.array(
        [
            ((instances.objects[:, None] == objects) & (instances.attributes[:, attributes] != 0).all(axis=2)).any(
                axis=0
            )
            for instances in truth
        ]
    )


def score_queries(
    predictions: Sequence[MethodPrediction], truth: Sequence[Instances], queries: Sequence[Query]
) -> QueryScores:
    """MAR, mAP and the mean curve over queries, all with the same number of attributes."""
    score, relevant = score_photos(predictions, queries), find_relevant(truth, queries)
    curves = [
        interpolate_precision(trace_curve(s, t), RECALLS) for s, t in zip(score.T, relevant.T, strict=True) if t.any()
    ]
    return QueryScores(
        average_defined(measure_columns(average_recall, score, relevant)),
        average_defined(measure_columns(average_precision, score, relevant)),
        np.mean(curves, axis=0),
    )
