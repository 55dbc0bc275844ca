"""Queries: by hand, and against loops over regions and instances."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from tagsight_bench.evaluation.queries import (
    Query,
    draw_queries,
    find_relevant,
    list_answerable,
    score_photos,
    score_queries,
)

from .cases import draw_world, make_instances, make_prediction

BOX = (0, 0, 10, 10)


def test_one_region_must_score_high_on_all() -> None:
    together = make_prediction([[2.0], [-9.0]], [[2.0, -9.0], [-9.0, 2.0]])
    apart = make_prediction([[2.0], [-9.0]], [[-9.0, -9.0], [2.0, 2.0]])
    score = score_photos([together, apart], [Query(0, (0,))])
    p, q = 1 / (1 + np.exp(-2)), 1 / (1 + np.exp(9))
    assert np.exp(score) == pytest.approx(np.array([[p * p], [p * q]]))


def test_the_photo_probability_is_distributed_over_regions() -> None:
    sure = make_prediction([[2.0], [-1.0]], [[-3.0], [1.0]])
    unsure = sure._replace(photo=np.array([-1.0]))
    score = score_photos([sure, unsure], [Query(0, (0,))])
    p = {x: 1 / (1 + np.exp(-x)) for x in (-3.0, -1.0, 1.0, 2.0)}
    best = max(p[-3], p[1] * p[-1] / p[2])  # the best region and the other one
    assert np.exp(score) == pytest.approx(np.array([[p[2] * best], [p[-1] * best]]))


def test_an_excluded_object_scores_minus_infinity() -> None:
    excluded = make_prediction([[-np.inf], [-np.inf]], [[1.0], [2.0]])
    assert np.isneginf(score_photos([excluded], [Query(0, (0,))])).all()


def test_a_photo_is_relevant_if_one_instance_has_all_attributes() -> None:
    split = make_instances((0, BOX, [1, 0]), (0, BOX, [0, 1]), (1, BOX, [1, 1]))
    one = make_instances((0, BOX, [1, 1]))
    queries = [Query(0, (0, 1)), Query(1, (0, 1))]
    assert find_relevant([split, one], queries).tolist() == [[False, True], [True, False]]


def test_scores_that_would_underflow_are_ranked() -> None:
    low, lower = make_prediction([[-600.0]], [[-600.0]]), make_prediction([[-600.0]], [[-601.0]])
    score = score_photos([low, lower], [Query(0, (0,))])
    assert score[0, 0] > score[1, 0]


def test_drawn_queries_are_answerable_distinct_and_seeded() -> None:
    _, _, truth = draw_world(3)
    for n in (1, 2):
        drawn = draw_queries(truth, n, count=12, seed=5)
        assert len(set(drawn)) == 12 == len(drawn)
        assert find_relevant(truth, drawn).any(axis=0).all()
        assert drawn == draw_queries(truth, n, count=12, seed=5)
        assert drawn != draw_queries(truth, n, count=12, seed=6)
    everything = list_answerable(truth, 1)
    assert draw_queries(truth, 1, count=1000, seed=0) == everything


def test_every_answerable_query_is_listed_once() -> None:
    _, _, truth = draw_world(4, n_photos=3)
    queries = [Query(o, pair) for o in range(4) for pair in combinations(range(6), 2)]
    possible = [query for query in queries if find_relevant(truth, [query]).any()]
    assert list_answerable(truth, 2) == possible


def test_query_scores_match_loops() -> None:
    _, predictions, truth = draw_world(6)
    queries = draw_queries(truth, 2, count=20, seed=0)
    precisions, interpolated = [], []
    for o, (a, b) in queries:
        score = [
            max(
                np.prod(1 / (1 + np.exp(-np.array([prediction.objects[j, o], *prediction.attributes[j, [a, b]]]))))
                for j in range(8)
            )
            for prediction in predictions
        ]
        relevant = [
            any(c == o and w[a] and w[b] for c, w in zip(one.objects, one.attributes, strict=True)) for one in truth
        ]
        precisions.append(average_precision_score(relevant, score))
        ranked = [t for _, t in sorted(zip(score, relevant, strict=True), key=lambda pair: -pair[0])]
        hits = np.cumsum(ranked)
        points = [(hits[k] / (k + 1), hits[k] / hits[-1]) for k in range(len(ranked))]
        levels = (np.arange(hits[-1]) + 0.5) / hits[-1]
        interpolated.append(np.mean([max(p for p, r in points if r >= level) for level in levels]))
    scores = score_queries(predictions, truth, queries)
    assert scores.mean_average_precision == pytest.approx(np.mean(precisions))
    assert scores.mean_average_recall == pytest.approx(np.mean(interpolated), abs=0.01)  # ties
    assert scores.precision.shape == (101,)
    assert (np.diff(scores.precision) <= 1e-12).all()
    assert scores.precision[50:].mean() < scores.mean_average_recall < scores.precision[:50].mean()
