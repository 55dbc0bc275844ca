"""The prior of labels given a region's height."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from tagsight.classifiers.regions import BANDS, find_height_bands, fit_height_prior


def test_the_band_of_a_region_is_that_of_its_centre() -> None:
    labels = np.zeros((80, 3), np.int32)
    labels[70:] = 1
    labels[:, 2] = 2
    assert_array_equal(find_height_bands(labels, 3), [35 * BANDS // 80, BANDS - 1, BANDS // 2])
    assert_array_equal(find_height_bands(np.zeros((1, 1), np.int32), 1), [BANDS // 2])


def test_the_height_prior_favours_a_label_where_it_is_frequent() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 6000)
    bands = np.where(labels == 1, rng.integers(0, 2, 6000), rng.integers(0, BANDS, 6000))
    height_prior = fit_height_prior(bands, labels, np.full(6000, 0.05), 4)
    assert (height_prior[1, :2] > 0.5).all()
    assert (height_prior[1, 2:] < -2).all()
    assert_allclose(height_prior[0], height_prior[2], atol=0.2)
    assert_allclose(height_prior[3], 0.0, atol=1e-6)  # a label without regions


def test_a_label_of_few_photos_has_a_weak_height_prior() -> None:
    labels = np.repeat([0, 1], [900, 100])
    bands = np.append(np.arange(900) % BANDS, np.zeros(100, int))
    few, many = (fit_height_prior(bands, labels, np.full(1000, area), 2)[1, -1] for area in (0.01, 1.0))
    assert many < few < 0
