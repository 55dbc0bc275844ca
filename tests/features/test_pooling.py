"""Pooled maps and colour histograms of regions, against loops over pixels."""

import math

import cv2
import numpy as np
import pytest

from tagsight.errors import InputError
from tagsight.features.pooling import compute_cell_weights, compute_colour_histograms, measure_areas, pool_map


def upsample(values, height, width, *, interpolation):
    """(C, height, width), pixel by pixel from the definition of half-pixel interpolation."""
    values = values.transpose(2, 0, 1)
    _, rows, columns = values.shape
    large = np.empty((len(values), height, width))
    for y in range(height):
        for x in range(width):
            v = min(max((y + 0.5) * rows / height - 0.5, 0), rows - 1)
            u = min(max((x + 0.5) * columns / width - 0.5, 0), columns - 1)
            if interpolation == "nearest":
                large[:, y, x] = values[:, int(v + 0.5), int(u + 0.5)]
                continue
            a, b, c, d = int(v), min(int(v) + 1, rows - 1), int(u), min(int(u) + 1, columns - 1)
            fv, fu = v - int(v), u - int(u)
            top = (1 - fu) * values[:, a, c] + fu * values[:, a, d]
            bottom = (1 - fu) * values[:, b, c] + fu * values[:, b, d]
            large[:, y, x] = (1 - fv) * top + fv * bottom
    return large


@pytest.mark.parametrize("interpolation", ["bilinear", "nearest"])
@pytest.mark.parametrize("grid", [(6, 9), (4, 5), (1, 3), (7, 1), (1, 1), (70, 100)])
def test_pooling_is_upsampling_then_averaging(ragged_labels, grid, interpolation):
    values = np.random.default_rng(0).normal(size=(*grid, 5)).astype(np.float32)
    large = upsample(values, *ragged_labels.shape, interpolation=interpolation)
    expected = [large[:, ragged_labels == region].mean(axis=1) for region in range(ragged_labels.max() + 1)]
    pooled = pool_map(values, compute_cell_weights(ragged_labels, *grid, interpolation=interpolation))
    assert pooled.dtype == np.float32
    np.testing.assert_allclose(pooled, expected, rtol=1e-5, atol=1e-6)


def test_a_region_of_one_pixel_has_the_upsampled_map_at_that_pixel(ragged_labels):
    values = np.arange(12, dtype=np.float32).reshape(3, 4, 1)
    pooled = pool_map(values, compute_cell_weights(ragged_labels, 3, 4))
    (row,), (column,) = np.nonzero(ragged_labels == 8)
    assert pooled[8, 0] == pytest.approx(upsample(values, 60, 90, interpolation="bilinear")[0, row, column], rel=1e-6)


def test_weights_of_every_region_sum_to_one(ragged_labels):
    weights = compute_cell_weights(ragged_labels, 5, 7)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-6)
    assert weights.data.min() >= 0


def test_regions_weighted_by_area_make_up_the_whole(ragged_labels):
    values = np.random.default_rng(2).normal(size=(5, 7, 3)).astype(np.float32)
    parts = pool_map(values, compute_cell_weights(ragged_labels, 5, 7))
    whole = pool_map(values, compute_cell_weights(np.zeros_like(ragged_labels), 5, 7))
    areas = measure_areas(ragged_labels)
    np.testing.assert_allclose(areas @ parts / areas.sum(), whole[0], atol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.int64])
def test_integer_types_and_memory_orders_of_labels_do_not_matter(ragged_labels, dtype):
    expected = compute_cell_weights(ragged_labels, 5, 7).toarray()
    np.testing.assert_array_equal(compute_cell_weights(ragged_labels.astype(dtype), 5, 7).toarray(), expected)
    np.testing.assert_array_equal(compute_cell_weights(np.asfortranarray(ragged_labels), 5, 7).toarray(), expected)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array([[0, 2, 2]]), "no pixel has region id 1"),
        (np.array([[0, -1]]), "run from -1 to 0"),
        (np.array([[0, 10**12]]), "to 1000000000000"),
        (np.array([[0.0, 1.0]]), "float64"),
        (np.zeros((0, 4), int), r"\(0, 4\)"),
        (np.zeros(4, int), r"\(4,\)"),
    ],
)
def test_labels_that_do_not_number_regions_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        compute_cell_weights(labels, 2, 2)


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
        positions = [(int(level) + 0.5) * bins / 256 for level in lab[index]]
        if not soft:
            counts[(labels[index], *(int(position) for position in positions))] += 1
            continue
        for corner in np.ndindex(bins, bins, bins):
            share = 1.0
            for position, i in zip(positions, corner, strict=True):
                inner = min(max(position, 0.5), bins - 0.5)
                share *= max(0.0, 1 - abs(inner - (i + 0.5)))
            counts[(labels[index], *corner)] += share
    counts = counts.reshape(len(counts), -1)
    return counts / counts.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("bins", [2, 3, 8])
def test_histograms_agree_with_a_loop_over_pixels(photo, ragged_labels, bins, soft):
    pixels, labels = photo[:14, ::5].copy(), ragged_labels[:14, ::5]
    labels = np.unique(labels, return_inverse=True)[1].reshape(labels.shape)
    found = compute_colour_histograms(pixels, labels, bins=bins, soft=soft)
    assert found.shape == (labels.max() + 1, bins**3)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, count_by_loop(pixels, labels, bins, soft), atol=1e-6)


@pytest.mark.parametrize("colour", [(255, 0, 0), (0, 255, 0), (0, 0, 255), (250, 240, 10), (128, 128, 128), (9, 60, 5)])
def test_the_mean_of_a_soft_histogram_is_the_lab_colour(colour):
    """Linear sharing keeps means, so the bin centres weighted by the histogram give L, a and b back."""
    pixels = np.full((2, 2, 3), colour, np.uint8)
    cube = compute_colour_histograms(pixels, np.zeros((2, 2), int)).reshape(8, 8, 8)
    centres = (np.arange(8) + 0.5) * 32 - 0.5
    means = [cube.sum(axis=others) @ centres for others in ((1, 2), (0, 2), (0, 1))]
    lightness, a, b = convert_to_lab(*colour)
    expected = [np.clip(lightness * 255 / 100, 15.5, 239.5), a + 128, b + 128]
    np.testing.assert_allclose(means, expected, atol=1.5)


def test_red_and_green_of_equal_lightness_share_no_bin():
    pixels = np.array([[[193, 0, 0], [0, 128, 0]]], np.uint8)
    red, green = compute_colour_histograms(pixels, np.array([[0, 1]]))
    assert red @ green == 0


def test_small_label_types_do_not_overflow():
    labels = np.arange(200, dtype=np.uint8).reshape(10, 20)
    pixels = np.full((10, 20, 3), 90, np.uint8)
    for soft in (True, False):
        found = compute_colour_histograms(pixels, labels, soft=soft)
        assert found.shape == (200, 512)
        assert (found == found[0]).all()


def test_pixels_that_do_not_fit_are_refused(photo, ragged_labels):
    with pytest.raises(InputError, match=r"\(60, 90, 3\) uint8 with \(59, 90\)"):
        compute_colour_histograms(photo, ragged_labels[:-1])
    with pytest.raises(InputError, match="float64"):
        compute_colour_histograms(photo / 255, ragged_labels)
    with pytest.raises(InputError, match="1 bins per axis"):
        compute_colour_histograms(photo, ragged_labels, bins=1)
