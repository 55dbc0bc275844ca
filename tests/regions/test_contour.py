import numpy as np
import pytest

from tagsight.regions import measure_contour


def make_halves(left, right):
    pixels = np.empty((40, 60, 3), np.uint8)
    pixels[:, :30] = left
    pixels[:, 30:] = right
    return pixels


@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), (13, 200, 77)])
def test_one_colour_has_no_contour(colour):
    pixels = np.empty((50, 70, 3), np.uint8)
    pixels[:] = colour
    assert not measure_contour(pixels).any()


def test_one_grey_level_is_a_contour():
    assert measure_contour(make_halves((128,) * 3, (129,) * 3)).max() > 0.1


@pytest.mark.parametrize(
    ("left", "right"),
    [((0, 0, 0), (255, 255, 255)), ((200, 60, 60), (60, 140, 60)), ((120, 120, 120), (150, 120, 120))],
)
def test_a_contour_is_strongest_at_the_edge(left, right):
    contour = measure_contour(make_halves(left, right))
    assert set(contour.argmax(axis=1)) <= {29, 30}
    assert contour[:, [0, -1]].max() < 0.05 * contour.max()


def test_mirrored_and_turned_photos_have_mirrored_and_turned_contours():
    pixels = np.random.default_rng(1).integers(0, 256, (31, 45, 3), dtype=np.uint8)
    contour = measure_contour(pixels)
    np.testing.assert_allclose(measure_contour(pixels[:, ::-1]), contour[:, ::-1], rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(measure_contour(pixels.transpose(1, 0, 2)), contour.T, rtol=1e-4, atol=1e-3)


def test_contours_of_step_edges_are_proportional_to_lab_distance():
    """Grey 50 to 100 and 100 to 150 are 18.8 and 21.0 apart in L* (CIE formula)."""

    def lightness(grey):
        linear = ((grey / 255 + 0.055) / 1.055) ** 2.4
        return 116 * np.cbrt(linear) - 16

    weak = measure_contour(make_halves((50,) * 3, (100,) * 3)).max()
    strong = measure_contour(make_halves((100,) * 3, (150,) * 3)).max()
    expected = (lightness(150) - lightness(100)) / (lightness(100) - lightness(50))
    assert strong / weak == pytest.approx(expected, rel=0.01)


def test_texture_separates_regions_of_equal_mean_colour():
    pixels = np.full((60, 80, 3), 128, np.uint8)
    checks = np.indices((60, 40)).sum(axis=0) % 2
    pixels[:, 40:] = np.where(checks, 160, 96)[..., None]
    contour = measure_contour(pixels)
    middle, inside = contour[15:45, 36:44].max(), contour[15:45, 55:75].max()
    assert middle > measure_contour(make_halves((128,) * 3, (138,) * 3)).max()
    assert middle > 5 * inside


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 2)])
def test_tiny_photos_have_finite_contours(shape):
    pixels = np.random.default_rng(2).integers(0, 256, (*shape, 3), dtype=np.uint8)
    contour = measure_contour(pixels)
    assert contour.shape == shape
    assert contour.dtype == np.float32
    assert np.isfinite(contour).all()
