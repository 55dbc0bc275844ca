"""Queries: rank photos by an object with one or more attributes ("furry brown horse").

A photo's score is the highest over its regions of the product of the probabilities, the object's and each
attribute's: max_j P(o | j) P(a1 | j) ..., where P(o | j) is `MethodPrediction.found`, for all methods alike. It is
kept as a sum of logarithms, which ranks alike and does not underflow.
A photo is a true answer if one of its instances has all that is asked.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from tagsight.demo.mask_measures import mean_defined
from tagsight.types import Array, Floats
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
    """Columns of an object and of attributes, ascending."""

    object: int
    attributes: tuple[int, ...]


class QueryScores(NamedTuple):
    """Means over queries."""

    mean_average_recall: float
    mean_average_precision: float
    precision: Floats  # (101,) interpolated, at RECALLS


def list_answerable(truth: Iterable[Instances], n_attributes: int) -> list[Query]:
    """Every object with `n_attributes` attributes that one instance at least has together, sorted."""
    seen = {
        Query(int(o), asked)
        for instances in truth
        for o, attributes in zip(instances.objects, instances.attributes, strict=True)
        for asked in combinations(np.flatnonzero(attributes).tolist(), n_attributes)
    }
    return sorted(seen)


def draw_queries(truth: Iterable[Instances], n_attributes: int, *, count: int, seed: int) -> list[Query]:
    """`count` different answerable queries, sorted; all of them if there are no more."""
    known = list_answerable(truth, n_attributes)
    pick = np.random.default_rng(seed).permutation(len(known))[:count]
    return [known[place] for place in np.sort(pick)]


def score_photos(seen: Sequence[MethodPrediction], queries: Sequence[Query]) -> Floats:
    """(I, Q) log score of each photo for each query."""
    objects = [query.object for query in queries]
    attributes = np.array([query.attributes for query in queries]).T  # (attributes of a query, Q)
    scores = np.empty((len(seen), len(queries)))
    for row, prediction in zip(scores, seen, strict=True):
        found, log_attribute = prediction.found, -np.logaddexp(0.0, -prediction.attributes)
        row[:] = (found[:, objects] + sum(log_attribute[:, asked] for asked in attributes)).max(axis=0)
    return scores


def answer_truly(truth: Sequence[Instances], queries: Sequence[Query]) -> Array:
    """(I, Q) whether one instance of the photo has all that the query asks."""
    objects = np.array([query.object for query in queries])
    attributes = np.array([query.attributes for query in queries])
    return np.array(
        [
            ((real.objects[:, None] == objects) & (real.attributes[:, attributes] != 0).all(axis=2)).any(axis=0)
            for real in truth
        ]
    )


def score_queries(
    seen: Sequence[MethodPrediction], truth: Sequence[Instances], queries: Sequence[Query]
) -> QueryScores:
    """MAR, mAP and the mean curve over queries that ask for as many attributes each."""
    score, real = score_photos(seen, queries), answer_truly(truth, queries)
    curves = [
        interpolate_precision(trace_curve(s, t), RECALLS) for s, t in zip(score.T, real.T, strict=True) if t.any()
    ]
    return QueryScores(
        mean_defined(measure_columns(average_recall, score, real)),
        mean_defined(measure_columns(average_precision, score, real)),
        np.mean(curves, axis=0),
    )
