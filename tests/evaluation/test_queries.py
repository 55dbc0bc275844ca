"""Queries: by hand, and against loops over regions and instances."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from tagsight_bench.evaluation.queries import (
    Query,
    answer_truly,
    draw_queries,
    list_answerable,
    score_photos,
    score_queries,
)

from .cases import draw_world, see, there

BOX = (0, 0, 10, 10)


def test_one_region_must_have_all() -> None:
    together = see([[2.0], [-9.0]], [[2.0, -9.0], [-9.0, 2.0]])
    apart = see([[2.0], [-9.0]], [[-9.0, -9.0], [2.0, 2.0]])
    score = score_photos([together, apart], [Query(0, (0,))])
    p, q = 1 / (1 + np.exp(-2)), 1 / (1 + np.exp(9))
    assert np.exp(score) == pytest.approx(np.array([[p * p], [p * q]]))


def test_what_the_photo_says_counts_in_proportion_to_the_region() -> None:
    sure = see([[2.0], [-1.0]], [[-3.0], [1.0]])
    unsure = sure._replace(photo=np.array([-1.0]))
    score = score_photos([sure, unsure], [Query(0, (0,))])
    p = {x: 1 / (1 + np.exp(-x)) for x in (-3.0, -1.0, 1.0, 2.0)}
    best = max(p[-3], p[1] * p[-1] / p[2])  # of the clearest region, of the other
    assert np.exp(score) == pytest.approx(np.array([[p[2] * best], [p[-1] * best]]))


def test_a_photo_without_the_object_scores_nothing() -> None:
    barred = see([[-np.inf], [-np.inf]], [[1.0], [2.0]])
    assert np.isneginf(score_photos([barred], [Query(0, (0,))])).all()


def test_one_instance_must_have_all() -> None:
    split = there((0, BOX, [1, 0]), (0, BOX, [0, 1]), (1, BOX, [1, 1]))
    one = there((0, BOX, [1, 1]))
    queries = [Query(0, (0, 1)), Query(1, (0, 1))]
    assert answer_truly([split, one], queries).tolist() == [[False, True], [True, False]]


def test_scores_that_underflow_still_rank() -> None:
    low, lower = see([[-600.0]], [[-600.0]]), see([[-600.0]], [[-601.0]])
    score = score_photos([low, lower], [Query(0, (0,))])
    assert score[0, 0] > score[1, 0]


def test_queries_are_answerable_different_and_seeded() -> None:
    _, _, truth = draw_world(3)
    for n in (1, 2):
        drawn = draw_queries(truth, n, count=12, seed=5)
        assert len(set(drawn)) == 12 == len(drawn)
        assert answer_truly(truth, drawn).any(axis=0).all()
        assert drawn == draw_queries(truth, n, count=12, seed=5)
        assert drawn != draw_queries(truth, n, count=12, seed=6)
    everything = list_answerable(truth, 1)
    assert draw_queries(truth, 1, count=1000, seed=0) == everything


def test_every_answerable_query_is_listed_once() -> None:
    _, _, truth = draw_world(4, n_photos=3)
    asked = [Query(o, pair) for o in range(4) for pair in combinations(range(6), 2)]
    possible = [query for query in asked if answer_truly(truth, [query]).any()]
    assert list_answerable(truth, 2) == possible


def test_against_loops() -> None:
    _, seen, truth = draw_world(6)
    queries = draw_queries(truth, 2, count=20, seed=0)
    precisions, interpolated = [], []
    for o, (a, b) in queries:
        score = [
            max(
                np.prod(1 / (1 + np.exp(-np.array([prediction.objects[j, o], *prediction.attributes[j, [a, b]]]))))
                for j in range(8)
            )
            for prediction in seen
        ]
        real = [
            any(c == o and w[a] and w[b] for c, w in zip(one.objects, one.attributes, strict=True)) for one in truth
        ]
        precisions.append(average_precision_score(real, score))
        ranked = [t for _, t in sorted(zip(score, real, strict=True), key=lambda pair: -pair[0])]
        found = np.cumsum(ranked)
        points = [(found[k] / (k + 1), found[k] / found[-1]) for k in range(len(ranked))]
        levels = (np.arange(found[-1]) + 0.5) / found[-1]
        interpolated.append(np.mean([max(p for p, r in points if r >= level) for level in levels]))
    scores = score_queries(seen, truth, queries)
    assert scores.mean_average_precision == pytest.approx(np.mean(precisions))
    assert scores.mean_average_recall == pytest.approx(np.mean(interpolated), abs=0.01)  # ties
    assert scores.precision.shape == (101,)
    assert (np.diff(scores.precision) <= 1e-12).all()
    assert scores.precision[50:].mean() < scores.mean_average_recall < scores.precision[:50].mean()
