from itertools import pairwise

import cv2
import numpy as np
import pytest
from scipy import ndimage

from tagsight.regions import cut_hierarchy
from tagsight.regions.hierarchy import MIN_SHARE


def count_parts(mask):
    return cv2.connectedComponents(mask.astype(np.uint8), connectivity=4)[0] - 1


def draw_contour(seed, shape=(60, 80)):
    noise = np.random.default_rng(seed).random(shape, dtype=np.float32)
    return ndimage.gaussian_filter(noise, 2)


def make_rooms(walls):
    """Four rooms of 20 columns; the strengths of the three walls between them."""
    contour = np.zeros((40, 80), np.float32)
    for room, strength in enumerate(walls, start=1):
        contour[:, 20 * room - 1 : 20 * room + 1] = strength
    return contour


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_regions", [1, 2, 7, 30])
def test_every_region_is_connected_and_not_below_the_least_area(seed, n_regions):
    contour = draw_contour(seed)
    labels = cut_hierarchy(contour, n_regions)
    assert labels.shape == contour.shape
    assert set(np.unique(labels)) == set(range(labels.max() + 1))
    for region in range(labels.max() + 1):
        assert count_parts(labels == region) == 1
    assert np.bincount(labels.ravel()).min() >= MIN_SHARE * contour.size / n_regions


@pytest.mark.parametrize("n_regions", [1, 2, 7, 20])
def test_noise_gives_as_many_regions_as_asked(n_regions):
    assert cut_hierarchy(draw_contour(0), n_regions).max() + 1 == n_regions


def test_weak_boundaries_are_merged_first():
    walls = (3.0, 1.0, 2.0)

    def joined_pairs(n_regions):
        row = cut_hierarchy(make_rooms(walls), n_regions)[20]
        centres = row[[10, 30, 50, 70]]
        return [bool(a == b) for a, b in pairwise(centres)]

    assert joined_pairs(4) == [False, False, False]
    assert joined_pairs(3) == [False, True, False]
    assert joined_pairs(1) == [True, True, True]


def test_a_small_spot_with_a_sharp_contour_is_merged_before_two_large_halves():
    contour = np.zeros((60, 80), np.float32)
    contour[:, 39:41] = 1.0
    contour[10:16, 10:16] = 100.0
    contour[12:14, 12:14] = 0.0
    labels = cut_hierarchy(contour, 2)
    assert labels.max() == 1
    assert labels[50, 10] != labels[50, 70]
    assert labels[12, 12] == labels[50, 10]


def test_large_halves_are_preferred_to_a_smaller_region_with_a_stronger_boundary():
    contour = np.zeros((60, 80), np.float32)
    contour[:, 39:41] = 1.0
    contour[8:32, 8:32] = 2.0
    contour[10:30, 10:30] = 0.0
    labels = cut_hierarchy(contour, 2)
    assert labels[20, 20] == labels[50, 10] != labels[50, 70]
    assert cut_hierarchy(contour, 3).max() == 2


def test_the_scale_of_contours_does_not_matter():
    contour = draw_contour(5)
    np.testing.assert_array_equal(cut_hierarchy(contour, 20), cut_hierarchy(contour * 8, 20))


def test_a_coarser_cut_with_the_same_least_area_merges_regions_of_the_finer(monkeypatch):
    monkeypatch.setattr("tagsight.regions.hierarchy.MIN_SHARE", 0.0)
    contour = draw_contour(6)
    fine, coarse = cut_hierarchy(contour, 30), cut_hierarchy(contour, 8)
    for region in range(fine.max() + 1):
        assert len(np.unique(coarse[fine == region])) == 1


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 1), (1, 50), (50, 1), (2, 2)])
def test_flat_contours_are_one_region(shape):
    np.testing.assert_array_equal(cut_hierarchy(np.zeros(shape, np.float32), 10), np.zeros(shape, np.int32))
