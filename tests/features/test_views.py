"""Directions have the lengths of their weights; strengths keep what directions throw away."""

import numpy as np
from numpy.testing import assert_allclose

from tagsight.features.views import Block, compute_directions, compute_strengths, learn_views

BLOCKS = (Block(3, 0.7, 0.5), Block(2, 2.0, 1.0))


def test_every_block_of_directions_has_the_length_of_its_weight() -> None:
    sample = np.random.default_rng(0).normal(3.0, 2.0, (50, 5)).astype(np.float16)
    seen = compute_directions(sample, learn_views(BLOCKS, sample))
    assert_allclose(np.linalg.norm(seen[:, :3], axis=1), 0.7, rtol=1e-5)
    assert_allclose(np.linalg.norm(seen[:, 3:], axis=1), 2.0, rtol=1e-5)
    assert_allclose(compute_directions(10 * sample, learn_views(BLOCKS, sample)), seen, rtol=1e-3)


def test_every_block_of_strengths_spreads_by_its_weight() -> None:
    sample = np.random.default_rng(0).normal(3.0, [[1, 1, 1, 40, 40]], (4000, 5))
    views = learn_views(BLOCKS, sample)
    seen = compute_strengths(sample, views)
    assert_allclose([seen[:, :3].std(), seen[:, 3:].std()], [0.5, 1.0], rtol=1e-3)
    assert_allclose(compute_strengths(2 * sample, views), 2 * seen, rtol=1e-5)


def test_vectors_without_blocks_are_one_block_and_zeros_stay() -> None:
    sample = np.eye(4, dtype=np.float32)
    views = learn_views((), sample)
    assert views.ends.tolist() == [4]
    assert_allclose(compute_directions(np.zeros((1, 4)), views), 0.0)
