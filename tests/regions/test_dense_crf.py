"""The dense CRF against the same field summed pair by pair, and on planted edges."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tagsight.errors import InputError
from tagsight.regions.dense_crf import (
    DEFAULTS,
    Field,
    make_bilateral_filter,
    make_spatial_filter,
    normalise_kernel,
    refine_labels,
    run_mean_field,
)
from tagsight.regions.permutohedral import build_lattice, filter_values
from tagsight.types import Array, Floats

STRONG = Field(10.0, 80.0, 13.0, 3.0, 3.0, 5)


def sum_pairs(points: Array) -> Floats:
    """(N, N) exp(-|f_i - f_j|^2 / 2), one pair at a time."""
    kernel = np.zeros((len(points),) * 2)
    for i, one in enumerate(points):
        for j, other in enumerate(points):
            kernel[i, j] = np.exp(-0.5 * sum((a - b) ** 2 for a, b in zip(one, other, strict=True)))
    return kernel


def infer_exactly(unary: Floats, kernels: list[tuple[float, Floats]], rounds: int) -> Floats:
    """The article's updates with full matrices, in float64."""
    Q = np.exp(unary) / np.exp(unary).sum(axis=1, keepdims=True)
    for _ in range(rounds):
        energy = unary.copy()
        for weight, kernel in kernels:
            degree = kernel.sum(axis=1)
            energy += weight * (kernel / np.sqrt(np.outer(degree, degree))) @ Q
        Q = np.exp(energy) / np.exp(energy).sum(axis=1, keepdims=True)
    return Q


def draw_edge(seed: int, height: int = 24, width: int = 32) -> tuple[Array, Array]:
    """A photo of two colours, noisy, with a slanted edge; and which side each pixel is on."""
    rng = np.random.default_rng(seed)
    down, across = np.mgrid[:height, :width]
    side = (across + 0.5 * down > 0.55 * width).astype(int)
    colour = np.array([[60, 70, 150], [190, 160, 60]])[side]
    return np.clip(colour + rng.normal(0, 6, colour.shape), 0, 255).astype(np.uint8), side


def place_pixels(height: int, width: int, reach: float) -> Floats:
    down, across = np.mgrid[:height, :width]
    return np.column_stack([across.ravel(), down.ravel()]) / reach


def test_the_spatial_filter_sums_all_pairs():
    values = np.random.default_rng(0).random((12 * 9, 3))
    exact = sum_pairs(place_pixels(9, 12, 1.7)) @ values
    one = make_spatial_filter((9, 12), 1.7)(values)
    assert_allclose(one / one.sum() * exact.sum(), exact, rtol=2e-3)
    same = normalise_kernel(make_spatial_filter((9, 12), 1.7), 108)(values)
    assert_allclose(same, normal(place_pixels(9, 12, 1.7)) @ values, atol=2e-4)


def normal(points: Array) -> Floats:
    kernel = sum_pairs(points)
    degree = kernel.sum(axis=1)
    return kernel / np.sqrt(np.outer(degree, degree))


def test_mean_field_with_exact_filters_equals_that_of_the_article():
    rng = np.random.default_rng(1)
    unary = np.log(rng.dirichlet(np.ones(4), 80))
    near, similar_colours = sum_pairs(rng.normal(size=(80, 2))), sum_pairs(rng.normal(size=(80, 5)))
    filters = [
        (3.0, normalise_kernel(lambda values: near @ values, 80)),
        (10.0, normalise_kernel(lambda values: similar_colours @ values, 80)),
    ]
    exact = infer_exactly(unary, [(3.0, near), (10.0, similar_colours)], 6)
    assert_allclose(run_mean_field(unary, filters, 6), exact, atol=1e-6)


@pytest.mark.parametrize(("d", "worst", "mean"), [(1, 0.06, 0.01), (2, 0.15, 0.02), (5, 0.35, 0.06)])
def test_the_lattice_approximates_the_sum_over_all_pairs(d: int, worst: float, mean: float):
    """Normalised as the field uses it; the stated error of the approximation."""
    rng = np.random.default_rng(d)
    points = rng.uniform(-1.5, 1.5, (400, d))
    values = rng.random((400, 3))
    lattice = build_lattice(points)
    found = normalise_kernel(lambda v: filter_values(lattice, v), 400)(values)
    exact = normal(points) @ values
    error = np.abs(found - exact) / exact
    assert error.max() < worst
    assert error.mean() < mean


def test_the_lattice_is_linear_and_its_weights_are_shares():
    points = np.random.default_rng(5).normal(size=(60, 3))
    lattice = build_lattice(points)
    kernel = filter_values(lattice, np.eye(60))
    assert_allclose(lattice.weight.sum(axis=1), 1, atol=1e-5)
    assert lattice.weight.min() > -1e-5
    values = np.random.default_rng(6).random((60, 2))
    assert_allclose(filter_values(lattice, values), kernel @ values, rtol=1e-4)


def test_distant_points_do_not_interact():
    points = np.array([[0.0, 0.0], [0.1, 0.0], [40.0, 40.0]])
    kernel = filter_values(build_lattice(points), np.eye(3))
    assert kernel[0, 1] > 0.5 * kernel[0, 0]
    assert kernel[0, 2] == kernel[2, 0] == 0


def test_too_fine_a_filter_is_refused():
    with pytest.raises(InputError, match="too small"):
        build_lattice(np.array([[0.0], [1e4]]))
    with pytest.raises(InputError, match="1 to 5 features"):
        build_lattice(np.zeros((2, 6)))


def test_refined_labels_agree_with_the_exact_field():
    pixels, side = draw_edge(2, 14, 18)
    rng = np.random.default_rng(3)
    noisy = np.clip(0.5 + 0.25 * (side - 0.5) + rng.normal(0, 0.15, side.shape), 0.05, 0.95)
    probability = np.stack([1 - noisy, noisy], axis=2)
    field = Field(4.0, 20.0, 30.0, 2.0, 1.5, 5)
    points = np.hstack([place_pixels(14, 18, 20.0), pixels.reshape(-1, 3) / 30.0])
    kernels = [(2.0, sum_pairs(place_pixels(14, 18, 1.5))), (4.0, sum_pairs(points))]
    unary = np.log(probability.reshape(-1, 2))
    exact = infer_exactly(unary, kernels, 5)
    found = run_mean_field(
        unary,
        [
            (2.0, normalise_kernel(make_spatial_filter((14, 18), 1.5), 252)),
            (4.0, normalise_kernel(make_bilateral_filter(pixels, field), 252)),
        ],
        5,
    )
    assert np.abs(found - exact).mean() < 0.01
    assert_array_equal(refine_labels(probability, pixels, field).ravel(), exact.argmax(axis=1))


def test_a_noisy_mask_is_smoothed_and_its_edge_moved_to_that_of_the_photo():
    pixels, side = draw_edge(4)
    shifted = np.roll(side, 3, axis=1)
    shifted[:, :3] = 0
    wrong = shifted != side
    assert wrong.mean() > 0.05
    rng = np.random.default_rng(5)
    claimed = np.where(rng.random(side.shape) < 0.15, 1 - shifted, shifted)
    probability = np.stack([1 - claimed, claimed], axis=2) * 0.4 + 0.3
    refined = refine_labels(probability, pixels, STRONG)
    assert (claimed != side).mean() > 0.15
    assert (refined != side).mean() < 0.01
    flat = refine_labels(probability, np.full_like(pixels, 90), STRONG)  # no edge to go by
    assert (flat != side).mean() > 0.05


def test_labels_keep_their_numbers_if_others_are_pruned():
    pixels, side = draw_edge(6)
    probability = np.full((*side.shape, 6), 1e-3)
    probability[..., 2] = np.where(side, 0.1, 0.8)
    probability[..., 5] = np.where(side, 0.8, 0.1)
    assert_array_equal(refine_labels(probability, pixels), np.where(side, 5, 2))
    probability[..., 5] = 1e-3
    assert_array_equal(refine_labels(probability, pixels), np.full(side.shape, 2))


def test_without_weights_the_field_changes_nothing():
    pixels, _ = draw_edge(7)
    probability = np.random.default_rng(8).dirichlet(np.ones(3), pixels.shape[:2])
    silent = DEFAULTS._replace(bilateral_weight=0.0, spatial_weight=0.0)
    assert_array_equal(refine_labels(probability, pixels, silent), probability.argmax(axis=2))


def test_maps_of_two_photos_are_refused():
    with pytest.raises(InputError, match="not of one photo"):
        refine_labels(np.ones((4, 5, 2)), np.zeros((5, 4, 3), np.uint8))
