"""Views and projections of region vectors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.features.samples import make_sample

from tagsight.features.transforms import (
    Block,
    learn_projection,
    learn_views,
    normalise_features,
    project,
    scale_features,
)

BLOCKS = (Block(3, 0.7, 0.5), Block(2, 2.0, 1.0))


def test_every_block_of_directions_has_the_length_of_its_weight() -> None:
    sample = np.random.default_rng(0).normal(3.0, 2.0, (50, 5)).astype(np.float16)
    found = normalise_features(sample, learn_views(BLOCKS, sample))
    assert_allclose(np.linalg.norm(found[:, :3], axis=1), 0.7, rtol=1e-5)
    assert_allclose(np.linalg.norm(found[:, 3:], axis=1), 2.0, rtol=1e-5)
    assert_allclose(normalise_features(10 * sample, learn_views(BLOCKS, sample)), found, rtol=1e-3)


def test_every_block_of_strengths_has_its_weight_as_standard_deviation() -> None:
    sample = np.random.default_rng(0).normal(3.0, [[1, 1, 1, 40, 40]], (4000, 5))
    views = learn_views(BLOCKS, sample)
    found = scale_features(sample, views)
    assert_allclose([found[:, :3].std(), found[:, 3:].std()], [0.5, 1.0], rtol=1e-3)
    assert_allclose(scale_features(2 * sample, views), 2 * found, rtol=1e-5)


def test_vectors_without_blocks_are_one_block_and_zeros_stay_zero() -> None:
    sample = np.eye(4, dtype=np.float32)
    views = learn_views((), sample)
    assert views.ends.tolist() == [4]
    assert_allclose(normalise_features(np.zeros((1, 4)), views), 0.0)


@pytest.mark.parametrize(("count", "width"), [(200, 12), (12, 200), (30, 30)])
def test_a_projection_is_the_leading_part_of_the_singular_value_decomposition(count, width):
    sample = make_sample(count, width)
    centred = sample.astype(float) - sample.mean(axis=0, dtype=float)
    left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    projection = learn_projection(sample.copy(), 5)
    signs = np.sign((projection.basis * right[:5].T).sum(axis=0))
    np.testing.assert_allclose(projection.basis, right[:5].T * signs, atol=2e-3)
    np.testing.assert_allclose(project(sample, projection), left[:, :5] * sizes[:5] * signs, atol=1e-3 * sizes[0])
    assert (projection.basis.max(axis=0) == np.abs(projection.basis).max(axis=0)).all()


def test_components_that_a_small_sample_does_not_determine_are_zero():
    sample = make_sample(4, 50)
    distances = np.linalg.norm(sample[:, None] - sample, axis=2)
    projection = learn_projection(sample.copy(), 10)
    assert projection.basis.shape == (50, 10)
    assert not projection.basis[:, 3:].any()
    found = project(sample, projection)
    np.testing.assert_allclose(np.linalg.norm(found[:, None] - found, axis=2), distances, rtol=1e-3)
    assert not learn_projection(np.ones((6, 4), np.float32), 3).basis.any()
