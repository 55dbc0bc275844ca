from fractions import Fraction
from math import floor

import numpy as np
import pytest

from tagsight.errors import InputError
from tagsight.regions import paint_regions, resize_map


@pytest.mark.parametrize("trailing", [(), (3,), (2, 2)])
def test_painted_values_are_read_back_from_any_pixel_of_a_region(trailing):
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(60) % 7).reshape(6, 10).astype(np.int32)
    values = rng.random((7, *trailing))
    painted = paint_regions(values, labels)
    assert painted.shape == (6, 10, *trailing)
    for region in range(7):
        assert np.array_equal(np.unique(painted[labels == region], axis=0), values[region][None])


def test_too_few_values_are_refused_by_number():
    with pytest.raises(InputError, match="2 values for region ids up to 2"):
        paint_regions(np.zeros(2), np.array([[0, 1, 2]]))


@pytest.mark.parametrize("size", [(10, 6), (23, 17), (3, 2), (1, 1), (500, 1)])
def test_each_pixel_is_copied_from_the_pixel_at_its_centre(size):
    labels = np.arange(60).reshape(6, 10)
    resized = resize_map(labels, size)
    assert resized.shape == size[::-1]
    for y in range(size[1]):
        for x in range(size[0]):
            row = floor((y + Fraction(1, 2)) * 6 / size[1])
            column = floor((x + Fraction(1, 2)) * 10 / size[0])
            assert resized[y, x] == labels[row, column]


def test_enlarging_and_reducing_by_whole_factors_is_a_round_trip():
    labels = np.random.default_rng(1).integers(0, 9, (7, 5))
    np.testing.assert_array_equal(resize_map(resize_map(labels, (35, 21)), (5, 7)), labels)


@pytest.mark.parametrize("size", [(0, 5), (5, 0), (-1, 5)])
def test_a_size_without_pixels_is_refused(size):
    with pytest.raises(InputError, match="has no pixels"):
        resize_map(np.zeros((2, 2)), size)
