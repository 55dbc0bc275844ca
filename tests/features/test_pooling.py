import numpy as np
import pytest

from tagsight.errors import InputError
from tagsight.features.pooling import measure_areas, pool_map, weigh_cells


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
    pooled = pool_map(values, weigh_cells(ragged_labels, *grid, interpolation=interpolation))
    assert pooled.dtype == np.float32
    np.testing.assert_allclose(pooled, expected, rtol=1e-5, atol=1e-6)


def test_a_speck_gets_what_the_map_says_at_its_pixel(ragged_labels):
    values = np.arange(12, dtype=np.float32).reshape(3, 4, 1)
    pooled = pool_map(values, weigh_cells(ragged_labels, 3, 4))
    (row,), (column,) = np.nonzero(ragged_labels == 8)
    assert pooled[8, 0] == pytest.approx(upsample(values, 60, 90, interpolation="bilinear")[0, row, column], rel=1e-6)


def test_every_region_shares_out_exactly_one(ragged_labels):
    weights = weigh_cells(ragged_labels, 5, 7)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-6)
    assert weights.data.min() >= 0


def test_regions_weighted_by_area_make_up_the_whole(ragged_labels):
    values = np.random.default_rng(2).normal(size=(5, 7, 3)).astype(np.float32)
    parts = pool_map(values, weigh_cells(ragged_labels, 5, 7))
    whole = pool_map(values, weigh_cells(np.zeros_like(ragged_labels), 5, 7))
    areas = measure_areas(ragged_labels)
    np.testing.assert_allclose(areas @ parts / areas.sum(), whole[0], atol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.int64])
def test_integer_types_and_memory_orders_of_labels_do_not_matter(ragged_labels, dtype):
    expected = weigh_cells(ragged_labels, 5, 7).toarray()
    np.testing.assert_array_equal(weigh_cells(ragged_labels.astype(dtype), 5, 7).toarray(), expected)
    np.testing.assert_array_equal(weigh_cells(np.asfortranarray(ragged_labels), 5, 7).toarray(), expected)


@pytest.mark.parametrize(
    ("labels", "complaint"),
    [
        (np.array([[0, 2, 2]]), "no pixel has region id 1"),
        (np.array([[0, -1]]), "run from -1 to 0"),
        (np.array([[0, 10**12]]), "to 1000000000000"),
        (np.array([[0.0, 1.0]]), "float64"),
        (np.zeros((0, 4), int), r"\(0, 4\)"),
        (np.zeros(4, int), r"\(4,\)"),
    ],
)
def test_labels_that_do_not_number_regions_are_refused(labels, complaint):
    with pytest.raises(InputError, match=complaint):
        weigh_cells(labels, 2, 2)
