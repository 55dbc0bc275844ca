import math

import cv2
import numpy as np
import pytest

from tagsight.errors import InputError
from tagsight.features.colour import count_colours


def convert_to_lab(red, green, blue):
    """CIE Lab under D65 of one sRGB colour, from the standard's formulas."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red / 255, green / 255, blue / 255)]
    matrix = [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
    xyz = [sum(m * c for m, c in zip(row, linear, strict=True)) for row in matrix]
    x, y, z = (t / white for t, white in zip(xyz, (0.950456, 1.0, 1.088754), strict=True))
    fx, fy, fz = (math.cbrt(t) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def count_by_loop(pixels, labels, bins, soft):
    lab = cv2.cvtColor(pixels, cv2.COLOR_RGB2LAB)
    counts = np.zeros((labels.max() + 1, bins, bins, bins))
    for index in np.ndindex(labels.shape):
        places = [(int(level) + 0.5) * bins / 256 for level in lab[index]]
        if not soft:
            counts[(labels[index], *(int(place) for place in places))] += 1
            continue
        for corner in np.ndindex(bins, bins, bins):
            closeness = 1.0
            for place, i in zip(places, corner, strict=True):
                inner = min(max(place, 0.5), bins - 0.5)
                closeness *= max(0.0, 1 - abs(inner - (i + 0.5)))
            counts[(labels[index], *corner)] += closeness
    counts = counts.reshape(len(counts), -1)
    return counts / counts.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("bins", [2, 3, 8])
def test_histograms_agree_with_a_loop_over_pixels(photo, ragged_labels, bins, soft):
    pixels, labels = photo[:14, ::5].copy(), ragged_labels[:14, ::5]
    labels = np.unique(labels, return_inverse=True)[1].reshape(labels.shape)
    found = count_colours(pixels, labels, bins=bins, soft=soft)
    assert found.shape == (labels.max() + 1, bins**3)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, count_by_loop(pixels, labels, bins, soft), atol=1e-6)


@pytest.mark.parametrize("colour", [(255, 0, 0), (0, 255, 0), (0, 0, 255), (250, 240, 10), (128, 128, 128), (9, 60, 5)])
def test_the_mean_of_a_soft_histogram_is_the_lab_colour(colour):
    """Linear sharing keeps means, so the bin centres weighted by the histogram give L, a and b back."""
    pixels = np.full((2, 2, 3), colour, np.uint8)
    cube = count_colours(pixels, np.zeros((2, 2), int)).reshape(8, 8, 8)
    centres = (np.arange(8) + 0.5) * 32 - 0.5
    means = [cube.sum(axis=others) @ centres for others in ((1, 2), (0, 2), (0, 1))]
    lightness, a, b = convert_to_lab(*colour)
    expected = [np.clip(lightness * 255 / 100, 15.5, 239.5), a + 128, b + 128]
    np.testing.assert_allclose(means, expected, atol=1.5)


def test_red_and_green_of_one_lightness_share_no_bin():
    pixels = np.array([[[193, 0, 0], [0, 128, 0]]], np.uint8)
    red, green = count_colours(pixels, np.array([[0, 1]]))
    assert red @ green == 0


def test_small_label_types_do_not_overflow():
    labels = np.arange(200, dtype=np.uint8).reshape(10, 20)
    pixels = np.full((10, 20, 3), 90, np.uint8)
    for soft in (True, False):
        found = count_colours(pixels, labels, soft=soft)
        assert found.shape == (200, 512)
        assert (found == found[0]).all()


def test_what_does_not_fit_is_refused(photo, ragged_labels):
    with pytest.raises(InputError, match=r"\(60, 90, 3\) uint8 with \(59, 90\)"):
        count_colours(photo, ragged_labels[:-1])
    with pytest.raises(InputError, match="float64"):
        count_colours(photo / 255, ragged_labels)
    with pytest.raises(InputError, match="1 bins"):
        count_colours(photo, ragged_labels, bins=1)
