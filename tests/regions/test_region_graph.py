from collections import Counter

import numpy as np
import pytest

from tagsight.regions import find_boxes, measure_adjacency


def count_sides_slowly(labels):
    sides = Counter()
    height, width = labels.shape
    for y in range(height):
        for x in range(width):
            for v, u in ((y + 1, x), (y, x + 1)):
                if v < height and u < width and labels[y, x] != labels[v, u]:
                    sides[tuple(sorted((int(labels[y, x]), int(labels[v, u]))))] += 1
    return sides


def draw_labels(seed, shape, n_regions):
    labels = np.random.default_rng(seed).integers(0, n_regions, shape)
    return np.unique(labels, return_inverse=True)[1].reshape(shape).astype(np.int32)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("shape", "n_regions"), [((6, 9), 4), ((1, 12), 3), ((12, 1), 5), ((7, 7), 40)])
def test_adjacency_agrees_with_a_loop_over_pixels(seed, shape, n_regions):
    labels = draw_labels(seed, shape, n_regions)
    adjacency = measure_adjacency(labels)
    expected = count_sides_slowly(labels)
    assert adjacency.edges.dtype == np.int32
    assert adjacency.boundary.dtype == np.float32
    assert [tuple(edge) for edge in adjacency.edges.tolist()] == sorted(expected)
    assert adjacency.boundary.tolist() == [expected[edge] for edge in sorted(expected)]


def test_corners_do_not_touch():
    labels = np.array([[0, 1], [2, 3]], np.int32)
    assert measure_adjacency(labels).edges.tolist() == [[0, 1], [0, 2], [1, 3], [2, 3]]


@pytest.mark.parametrize("shape", [(1, 1), (3, 4)])
def test_one_region_has_no_edges(shape):
    adjacency = measure_adjacency(np.zeros(shape, np.int32))
    assert adjacency.edges.shape == (0, 2)
    assert adjacency.boundary.shape == (0,)


@pytest.mark.parametrize("seed", range(5))
def test_boxes_hold_exactly_the_extent_of_each_region(seed):
    labels = draw_labels(seed, (9, 6), 8)
    boxes = find_boxes(labels).tolist()
    assert len(boxes) == labels.max() + 1
    for region, box in enumerate(boxes):
        ys, xs = np.nonzero(labels == region)
        assert box == [xs.min(), ys.min(), xs.max() + 1, ys.max() + 1]
