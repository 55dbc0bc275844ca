"""Projected region vectors, and their means over photos and boxes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tagsight.errors import InputError
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.transforms import project
from tagsight_bench.baselines.region_vectors import compute_box_shares, fit_projection, pool_boxes, stack_bags
from tests.baselines.planted import draw_world

LABELS = np.array([[0, 0, 1, 1], [2, 2, 1, 1]], np.int32)
PHOTO = PhotoFeatures(
    np.array([[1, 0], [0, 1], [4, 4]], np.float16), LABELS, np.array([[0, 1]]), np.ones(1, np.float32), (8, 4)
)


def test_box_shares_are_shares_of_area():
    shares = compute_box_shares(PHOTO, np.array([[0, 0, 8, 4], [0, 0, 4, 4], [2, 0, 6, 2], [5, 1, 5, 1]]))
    assert_allclose(shares, [[0.25, 0.5, 0.25], [0.5, 0, 0.5], [0.5, 0.5, 0], [0, 1, 0]])


def test_boxes_are_clipped_to_the_photo():
    assert_allclose(
        compute_box_shares(PHOTO, np.array([[-9, 2, 99, 99], [50, 50, 60, 60]])), [[0, 0.5, 0.5], [0, 1, 0]]
    )


def test_vectors_of_photos_and_boxes_are_means_of_regions():
    world = draw_world(5, seed=0)
    projection = fit_projection(world.photos, seed=0)
    bags = stack_bags(world.photos, projection)
    assert_allclose(bags.share.sum(), 5, rtol=1e-5)
    for i, photo in enumerate(world.photos):
        whole = np.array([[0, 0, *photo.size]])
        assert_allclose(bags.means[i], pool_boxes(photo, whole, projection)[0], atol=1e-5)
        assert_allclose(bags.means[i], project(photo.features.astype(np.float32), projection).mean(axis=0), atol=1e-5)


def test_means_are_weighted_by_area():
    projection = fit_projection([PHOTO], seed=0)
    x = project(PHOTO.features.astype(np.float32), projection)
    assert_allclose(stack_bags([PHOTO], projection).means[0], 0.25 * x[0] + 0.5 * x[1] + 0.25 * x[2], atol=1e-6)


def test_the_projection_ignores_units_and_has_unit_mean_square_length():
    world = draw_world(20, seed=0)
    units = np.linspace(1, 5, world.photos[0].features.shape[1])
    stretched = [photo._replace(features=(photo.features * units).astype(np.float32)) for photo in world.photos]
    plain = [photo._replace(features=photo.features.astype(np.float32)) for photo in world.photos]
    one, other = (stack_bags(photos, fit_projection(photos, seed=0)).X for photos in (plain, stretched))
    assert_allclose(np.mean(np.sum(one**2, axis=1)), 1, rtol=1e-3)
    assert_allclose(one @ one.T, other @ other.T, atol=1e-3)


def test_taken_photos_keep_their_regions():
    world = draw_world(4, seed=0)
    bags = stack_bags(world.photos, fit_projection(world.photos, seed=0))
    picked = bags.take(np.array([2, 0]))
    assert_array_equal(picked.X, np.concatenate([bags.X[48:72], bags.X[:24]]))
    assert_array_equal(picked.first, [0, 24, 48])
    assert_array_equal(picked.groups, np.repeat([0, 1], 24))


def test_an_empty_list_of_photos_is_refused():
    with pytest.raises(InputError, match="empty list"):
        fit_projection([], seed=0)
