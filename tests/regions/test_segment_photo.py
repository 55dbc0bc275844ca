import subprocess
import sys

import cv2
import numpy as np
import pytest
from scipy import ndimage

from tagsight.errors import InputError
from tagsight.regions import measure_adjacency, segment_photo


def count_parts(mask):
    return cv2.connectedComponents(mask.astype(np.uint8), connectivity=4)[0] - 1


def draw_photo(seed, shape=(70, 90)):
    noise = np.random.default_rng(seed).random((*shape, 3))
    smooth = ndimage.gaussian_filter(noise, (4, 4, 0))
    smooth -= smooth.min()
    return (255 * smooth / smooth.max()).astype(np.uint8)


def check_regions(regions, shape):
    """Assert the properties that `Regions` states."""
    labels = regions.labels
    assert labels.shape == shape
    assert labels.dtype == np.int32
    count = labels.max() + 1
    assert sorted(np.unique(labels)) == list(range(count))
    assert all(count_parts(labels == region) == 1 for region in range(count))
    expected = measure_adjacency(labels)
    np.testing.assert_array_equal(regions.edges, expected.edges)
    np.testing.assert_array_equal(regions.boundary, expected.boundary)


@pytest.mark.parametrize("n_regions", [1, 5, 40])
def test_a_photo_becomes_as_many_connected_regions_as_asked(n_regions):
    regions = segment_photo(draw_photo(0), n_regions)
    check_regions(regions, (70, 90))
    assert regions.labels.max() + 1 == n_regions


def test_painted_shapes_are_found():
    truth = np.zeros((120, 160), int)
    truth[20:70, 20:80] = 1
    ys, xs = np.indices(truth.shape)
    truth[(ys - 80) ** 2 + (xs - 120) ** 2 < 30**2] = 2
    colours = np.array([[90, 130, 180], [190, 60, 50], [60, 150, 70]])
    noise = np.random.default_rng(0).normal(0, 6, (*truth.shape, 3))
    pixels = np.clip(colours[truth] + noise, 0, 255).astype(np.uint8)
    labels = segment_photo(pixels, 10).labels
    majority = [np.bincount(truth[labels == region]).argmax() for region in range(labels.max() + 1)]
    assert np.mean(np.array(majority)[labels] == truth) > 0.985


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 1), (1, 300), (300, 1), (2, 2), (3, 5)])
def test_tiny_photos_have_regions(shape):
    pixels = np.random.default_rng(3).integers(0, 256, (*shape, 3), dtype=np.uint8)
    check_regions(segment_photo(pixels), shape)


def test_a_line_of_two_colours_is_split_at_the_change():
    pixels = np.zeros((1, 100, 3), np.uint8)
    pixels[:, 60:] = (220, 200, 40)
    labels = segment_photo(pixels, 2).labels[0]
    assert labels[0] != labels[-1]
    assert abs(int(np.argmax(labels != labels[0])) - 60) <= 1


@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), (13, 200, 77)])
def test_one_colour_is_one_region(colour):
    pixels = np.empty((50, 70, 3), np.uint8)
    pixels[:] = colour
    regions = segment_photo(pixels)
    check_regions(regions, (50, 70))
    assert regions.labels.max() == 0


def test_the_same_pixels_give_the_same_regions_whatever_the_threads_and_memory_layout():
    pixels = draw_photo(1)
    first = segment_photo(pixels, 30)
    threads = cv2.getNumThreads()
    try:
        cv2.setNumThreads(1 if threads > 1 else 2)
        second = segment_photo(np.asfortranarray(pixels), 30)
    finally:
        cv2.setNumThreads(threads)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_another_process_gives_the_same_regions(tmp_path):
    pixels = draw_photo(2)
    np.save(tmp_path / "pixels.npy", pixels)
    script = (
        "import sys, numpy as np; from tagsight.regions import segment_photo;"
        "np.save(sys.argv[1] + '/labels.npy', segment_photo(np.load(sys.argv[1] + '/pixels.npy'), 30).labels)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), segment_photo(pixels, 30).labels)


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((4, 4, 3)),
        np.zeros((0, 4, 3), np.uint8),
    ],
)
def test_arrays_that_are_not_photos_are_refused_with_their_shape(pixels):
    with pytest.raises(InputError, match=r"pixels must be .* not \("):
        segment_photo(pixels)


def test_zero_regions_are_refused():
    with pytest.raises(InputError, match="into 0 regions"):
        segment_photo(np.zeros((4, 4, 3), np.uint8), 0)
