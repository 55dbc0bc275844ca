import math

import cv2
import numpy as np
import pytest

from tagsight.errors import InputError
from tagsight.features.pooling import compute_cell_weights
from tagsight.features.sift import BIN_SIZES, FLOOR, SMOOTHING, compute_descriptors, place_grid

LIGHTNESS = 2


@pytest.fixture
def noise():
    return np.random.default_rng(1).integers(0, 256, (120, 135, 3)).astype(np.uint8)


def share_by_angle(across, down):
    """Sizes along the eight directions: the two that enclose the gradient add up to it as vectors."""
    shares = np.zeros(8)
    size, angle = math.hypot(across, down), math.atan2(down, across) % (2 * math.pi)
    before, beyond = int(angle // (math.pi / 4)) % 8, angle % (math.pi / 4)
    shares[before] += size * math.sin(math.pi / 4 - beyond) / math.sin(math.pi / 4)
    shares[(before + 1) % 8] += size * math.sin(beyond) / math.sin(math.pi / 4)
    return shares


def compute_by_loop(pixels, y, x, size):
    red, green, blue = np.moveaxis(pixels.astype(float), 2, 0)
    channels = [
        (red - green) / math.sqrt(2),
        (red + green - 2 * blue) / math.sqrt(6),
        (red + green + blue) / math.sqrt(3),
    ]
    histogram = np.zeros((4, 4, 3, 8))
    for c, channel in enumerate(channels):
        flat_beyond = np.pad(cv2.GaussianBlur(channel, (0, 0), size / SMOOTHING), 1, mode="edge")
        for v, u in np.ndindex(channel.shape):
            across = (flat_beyond[v + 1, u + 2] - flat_beyond[v + 1, u]) / 2
            down = (flat_beyond[v + 2, u + 1] - flat_beyond[v, u + 1]) / 2
            for i, j in np.ndindex(4, 4):
                closeness = max(0, 1 - abs(v - y - (i - 1.5) * size) / size)
                closeness *= max(0, 1 - abs(u - x - (j - 1.5) * size) / size)
                if closeness:
                    histogram[i, j, c] += closeness / size**2 * share_by_angle(across, down)
    return np.sqrt(histogram / (histogram.sum() + 16 * FLOOR)).ravel()


def test_descriptors_agree_with_loops_over_pixels_and_bins(noise):
    pixels = cv2.GaussianBlur(noise[:23, :19], (0, 0), 1.0)
    found = compute_descriptors(pixels, bin_sizes=(2, 4))
    for s, size in enumerate((2, 4)):
        for r, c in [(0, 0), (2, 1), (4, 3)]:
            expected = compute_by_loop(pixels, found.rows[r], found.columns[c], size)
            np.testing.assert_allclose(found.values[s, r, c], expected, atol=2e-4)


def test_a_photo_of_voc_size_has_thirty_thousand_descriptors():
    found = compute_descriptors(np.zeros((375, 500, 3), np.uint8))
    assert found.values.shape == (4, 75, 100, 384)
    assert found.values.dtype == np.float32
    assert list(found.rows[:2]) == list(found.columns[:2]) == [2, 7]
    assert (found.rows[-1], found.columns[-1]) == (372, 497)


def test_moving_the_photo_by_the_stride_moves_the_descriptors(noise):
    whole, moved = compute_descriptors(noise).values, compute_descriptors(noise[5:, 10:]).values
    inside = (slice(None), slice(7, -7), slice(7, -7))
    np.testing.assert_allclose(moved[inside], whole[:, 1:, 2:][inside], atol=1e-5)
    assert np.abs(moved[inside] - whole[:, :-1, :-2][inside]).max() > 0.01


def test_rotating_the_photo_rotates_bins_and_orientations(noise):
    square = noise[:45, :45].copy()
    values = compute_descriptors(square).values.reshape(4, 9, 9, 4, 4, 3, 8)
    rotated = compute_descriptors(np.rot90(square).copy()).values.reshape(4, 9, 9, 4, 4, 3, 8)
    expected = np.rot90(np.rot90(values, axes=(1, 2)), axes=(3, 4))
    # What pointed right (0) points up (6).
    np.testing.assert_allclose(rotated, np.roll(expected, -2, axis=-1), atol=1e-5)


@pytest.mark.parametrize(
    ("across", "down", "orientation"), [(1, 0, 0), (1, 1, 1), (0, 1, 2), (-1, 0, 4), (0, -1, 6), (1, -1, 7)]
)
def test_a_grey_ramp_is_in_lightness_and_one_orientation(across, down, orientation):
    rows, columns = np.mgrid[:60, :60]
    shade = (128 + across * (columns - 30) + down * (rows - 30)).astype(np.uint8)
    values = compute_descriptors(np.dstack([shade] * 3)).values.reshape(4, 12, 12, 16, 3, 8)[:, 6, 6]
    assert (values[..., LIGHTNESS, orientation] > 0.2).all()
    values[..., LIGHTNESS, orientation] = 0
    assert values.max() < 0.02


def test_an_edge_between_red_and_green_of_equal_lightness_is_in_the_first_channel_only():
    pixels = np.full((60, 60, 3), (200, 50, 80), np.uint8)
    pixels[:, 30:] = 50, 200, 80
    share = (compute_descriptors(pixels).values.reshape(4, 12, 12, 16, 3, 8) ** 2).sum(axis=(0, 1, 2, 3, 5))
    assert share[0] > 100
    assert share[1:].max() < 1e-3 * share[0]


def test_brightness_and_contrast_hardly_matter_where_there_is_texture(noise):
    plain = compute_descriptors(noise // 2).values
    np.testing.assert_allclose(compute_descriptors(noise // 2 + 90).values, plain, atol=1e-4)
    np.testing.assert_allclose(compute_descriptors(noise // 2 * 2).values, plain, atol=0.01)
    np.testing.assert_allclose((plain[:, 8:-8, 8:-8] ** 2).sum(axis=-1), 1, atol=0.08)


def test_descriptors_of_a_photo_of_one_colour_are_nearly_zero():
    """Roots of rounding: without the floor they would be scaled to unit length."""
    values = compute_descriptors(np.full((40, 30, 3), (9, 200, 80), np.uint8)).values
    assert np.linalg.norm(values, axis=-1).max() < 0.01


@pytest.mark.parametrize(
    ("shape", "grid"), [((1, 1), (1, 1)), ((3, 200), (1, 40)), ((200, 1), (40, 1)), ((4, 7), (1, 1))]
)
def test_thin_and_tiny_photos_have_at_least_one_point(shape, grid):
    pixels = np.random.default_rng(2).integers(0, 256, (*shape, 3)).astype(np.uint8)
    values = compute_descriptors(pixels).values
    assert values.shape == (len(BIN_SIZES), *grid, 384)
    assert np.isfinite(values).all()


@pytest.mark.parametrize("side", [*range(1, 40), 333, 374, 500])
def test_points_are_within_a_pixel_of_the_centres_of_the_cells_that_tile_the_photo(side):
    points = place_grid(side)
    assert points[0] >= 0
    assert points[-1] < side
    middles = (np.arange(len(points)) + 0.5) * side / len(points) - 0.5
    assert np.abs(points - middles).max() <= 1.25
    weights = compute_cell_weights(np.arange(side)[None], 1, len(points), interpolation="nearest").toarray()
    assert np.abs(points[weights.argmax(axis=1)] - np.arange(side)).max() <= 4


def test_pixels_and_bin_sizes_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="float64"):
        compute_descriptors(np.zeros((9, 9, 3)))
    with pytest.raises(InputError, match=r"\(0, 9, 3\)"):
        compute_descriptors(np.zeros((0, 9, 3), np.uint8))
    with pytest.raises(InputError, match=r"bin sizes \(5,\) even"):
        compute_descriptors(np.zeros((9, 9, 3), np.uint8), bin_sizes=(5,))
