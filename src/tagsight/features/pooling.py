"""Average of a coarse feature map over each region of a photo, as if the map were upsampled to pixels.

Upsampling is linear, so the average over region r of the upsampled map is a fixed mixture of map cells:

    mean_{p in r} sum_c B(p, c) F(c)  =  sum_c W(r, c) F(c),    W(r, c) = mean_{p in r} B(p, c),

with B(p, c) the interpolation weight of cell c at pixel p. W is gathered in one pass over the labels and
the upsampled map, hundreds of times larger than the map, is never made. Every region with a pixel has a
row of W that sums to one, however small beside a cell. W is sparse, and its product runs outside BLAS:
the result does not depend on BLAS threads, whose waiting costs more than this product where cores are shared.
"""

from typing import Literal

import numpy as np
from numba import njit
from scipy import sparse

from tagsight.errors import InputError
from tagsight.types import Array

Interpolation = Literal["bilinear", "nearest"]


def measure_areas(labels: Array) -> Array:
    """(R,) pixels of each region of a label map (h, w); raises unless its ids are exactly 0..R-1."""
    if labels.ndim != 2 or labels.size == 0 or labels.dtype.kind not in "iu":
        raise InputError(f"labels must be a non-empty (h, w) array of integers, not {labels.shape} {labels.dtype}")
    lowest, highest = labels.min(), labels.max()
    if lowest < 0 or highest >= labels.size:
        raise InputError(f"region ids run from {lowest} to {highest}; number the regions 0..R-1")
    areas = np.bincount(labels.ravel())
    if not areas.all():
        raise InputError(f"no pixel has region id {np.argmin(areas)}; number the regions 0..R-1 without gaps")
    return areas


def weigh_cells(
    labels: Array, rows: int, columns: int, *, interpolation: Interpolation = "bilinear"
) -> sparse.csr_array:
    """W (R, rows * columns), sparse float32: the share of each map cell in each region.

    The cells tile the photo edge to edge, so pixel i of n lies at (i + 1/2) rows / n - 1/2 among the
    centres of the rows. Beyond the outermost centres the map is held constant.
    """
    areas = measure_areas(labels)
    height, width = labels.shape
    top, down = _place(height, rows, interpolation)
    left, right = _place(width, columns, interpolation)
    shares = np.zeros((len(areas), rows, columns))
    _add_shares(labels, top, down, left, right, shares)
    weights = sparse.csr_array(shares.reshape(len(areas), -1))
    weights.data /= np.repeat(areas, np.diff(weights.indptr))
    return sparse.csr_array(weights, dtype=np.float32)


def pool_map(values: Array, weights: sparse.csr_array) -> Array:
    """(R, C): the map `values` (rows, columns, C) averaged by `weights` (R, rows * columns)."""
    return weights @ np.ascontiguousarray(values.reshape(-1, values.shape[2]))


def _place(pixels: int, cells: int, interpolation: Interpolation) -> tuple[Array, Array]:
    """For each pixel along one side, the cell before it and the weight of the cell after."""
    position = np.clip((np.arange(pixels) + 0.5) * (cells / pixels) - 0.5, 0, cells - 1)
    if interpolation == "nearest":
        position = np.floor(position + 0.5)
    before = np.minimum(position.astype(np.int64), max(cells - 2, 0))
    return before, position - before


@njit(cache=True, nogil=True)
def _add_shares(labels: Array, top: Array, down: Array, left: Array, right: Array, shares: Array) -> None:
    """Add every pixel's bilinear weights into shares (R, rows, columns).

    Pixels of a run, same region and same cells along a row, share their targets: the run is summed in
    registers and written once.
    """
    height, width = labels.shape
    last_row, last_column = shares.shape[1] - 1, shares.shape[2] - 1
    for y in range(height):
        a, fy = top[y], down[y]
        b = min(a + 1, last_row)
        x = 0
        while x < width:
            region, c = labels[y, x], left[x]
            length, lean = 0.0, 0.0
            while x < width and labels[y, x] == region and left[x] == c:
                length += 1.0
                lean += right[x]
                x += 1
            d = min(c + 1, last_column)
            shares[region, a, c] += (1.0 - fy) * (length - lean)
            shares[region, a, d] += (1.0 - fy) * lean
            shares[region, b, c] += fy * (length - lean)
            shares[region, b, d] += fy * lean
