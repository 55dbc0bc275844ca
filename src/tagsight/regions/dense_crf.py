"""A fully connected conditional random field over pixels, by mean field.

Krahenbuhl and Koltun, "Efficient inference in fully connected CRFs with Gaussian edge potentials", NIPS 2011. With
u_i(l) the log-probability of label l at pixel i, p positions and c RGB colours,

    k_ij = w_b exp(-|p_i - p_j|^2 / 2 s_b^2 - |c_i - c_j|^2 / 2 s_c^2) + w_s exp(-|p_i - p_j|^2 / 2 s_s^2),

each kernel K normalised to D^-1/2 K D^-1/2, D its row sums, and Potts compatibility, every update sets all pixels to

    Q_i(l) proportional to exp(u_i(l) + sum_j k_ij Q_j(l)).

As in the authors' code, and unlike the article's text, normalisation is symmetric and the sum has j = i, a constant
small part of it. The spatial kernel is a separable convolution, cut at TRUNCATE deviations: exact to 2e-4. The
bilateral one goes through the permutohedral lattice: after normalisation its sums are off by 1 to 6 % on average and
up to 35 % at isolated points (tests/regions/test_dense_crf.py).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d

from tagsight.errors import InputError
from tagsight.regions.permutohedral import build_lattice, filter_values
from tagsight.types import Array

MIN_LABEL_PROBABILITY = 0.02  # a label that is less probable at every pixel is left out
MIN_PROBABILITY = 1e-4  # smallest probability, so that its logarithm is finite
TRUNCATE = 4.5

Filter = Callable[[Array], Array]  # (N, L) -> (N, L): values summed by a kernel


class Field(NamedTuple):
    """The parameters: weights, standard deviations in pixels and grey levels, and the number of mean-field updates.

    The defaults were chosen on training photos of aPascal's segmentation split.
    """

    bilateral_weight: float = 3.0
    bilateral_reach: float = 30.0
    bilateral_colour: float = 5.0
    spatial_weight: float = 1.0
    spatial_reach: float = 3.0
    rounds: int = 5


DEFAULTS = Field()


def refine_labels(probability: Array, pixels: Array, field: Field = DEFAULTS) -> Array:
    """(h, w) the most probable label of each pixel, given `probability` (h, w, L) and RGB `pixels` (h, w, 3)."""
    if probability.shape[:2] != pixels.shape[:2]:
        raise InputError(f"probabilities {probability.shape} and pixels {pixels.shape} are not of one photo")
    height, width, n_labels = probability.shape
    flat = probability.reshape(-1, n_labels)
    kept = np.flatnonzero(flat.max(axis=0) >= min(MIN_LABEL_PROBABILITY, float(flat.max())))
    if len(kept) == 1:
        return np.full((height, width), kept[0])
    unary = np.log(np.maximum(flat[:, kept], MIN_PROBABILITY)).astype(np.float32)
    filters = [
        (field.spatial_weight, normalise_kernel(make_spatial_filter((height, width), field.spatial_reach), len(flat))),
        (field.bilateral_weight, normalise_kernel(make_bilateral_filter(pixels, field), len(flat))),
    ]
    return kept[run_mean_field(unary, filters, field.rounds).argmax(axis=1)].reshape(height, width)


def run_mean_field(unary: Array, filters: list[tuple[float, Filter]], rounds: int) -> Array:
    """(N, L) Q after `rounds` updates, starting from Q = softmax(u)."""
    marginals = _softmax(unary)
    for _ in range(rounds):
        energy = unary.copy()
        for weight, kernel in filters:
            energy += weight * kernel(marginals)
        marginals = _softmax(energy)
    return marginals


def normalise_kernel(kernel: Filter, n_pixels: int) -> Filter:
    """The filter D^-1/2 K D^-1/2 of a kernel K."""
    root = 1 / np.sqrt(np.maximum(kernel(np.ones((n_pixels, 1), np.float32)), np.finfo(np.float32).tiny))
    return lambda values: root * kernel(root * values)


def make_spatial_filter(shape: tuple[int, int], reach: float) -> Filter:
    """The kernel over positions."""

    def convolve(values: Array) -> Array:
        image = values.reshape(*shape, -1)
        for axis in (0, 1):
            image = gaussian_filter1d(image, reach, axis=axis, mode="constant", truncate=TRUNCATE)
        return image.reshape(values.shape)

    return convolve


def make_bilateral_filter(pixels: Array, field: Field) -> Filter:
    """The kernel over positions and colours."""
    height, width = pixels.shape[:2]
    down, across = np.mgrid[:height, :width]
    points = np.column_stack(
        [
            across.ravel() / field.bilateral_reach,
            down.ravel() / field.bilateral_reach,
            pixels.reshape(-1, 3) / field.bilateral_colour,
        ]
    )
    lattice = build_lattice(points)
    return lambda values: filter_values(lattice, values)


def _softmax(energy: Array) -> Array:
    shifted = np.exp(energy - energy.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)
