"""Statistics of the regions of a photo: means of a coarse feature map, and histograms of colour.

The mean of a map over a region is that of the map upsampled to pixels. Upsampling is linear, so the mean over region
r is a fixed mixture of map cells:

    mean_{p in r} sum_c B(p, c) F(c)  =  sum_c W(r, c) F(c),    W(r, c) = mean_{p in r} B(p, c),

with B(p, c) the interpolation weight of cell c at pixel p. W is computed in one pass over the labels, and the
upsampled map, hundreds of times larger than the map, is never made. Every region with a pixel has a row of W that
sums to one, however small it is beside a cell. W is sparse, and its product runs outside BLAS: the result does not
depend on BLAS threads, and no time is spent on their synchronisation.

For histograms, the photo is taken as sRGB and turned into 8-bit CIE Lab (D65; L = 100 level / 255, a and b = level -
128). The 256 levels of each axis are cut into `bins` equal intervals. Soft assignment shares a pixel between the two
nearest interval centres of each axis, in proportion to closeness (trilinear; the eight shares add to one). Grey lies
on an edge between intervals if `bins` is even (a = b = 0), and noise alone would scatter it over four bins by hard
assignment.
"""

from typing import Literal

import cv2
import numpy as np
from scipy import sparse

from tagsight.errors import InputError
from tagsight.runtime.kernels import kernel
from tagsight.types import Array

Interpolation = Literal["bilinear", "nearest"]


def measure_areas(labels: Array) -> Array:
    """(R,) pixels of each region of a label map (h, w); raises InputError unless its ids are exactly 0..R-1."""
    if labels.ndim != 2 or labels.size == 0 or labels.dtype.kind not in "iu":
        raise InputError(f"labels must be a non-empty (h, w) array of integers, not {labels.shape} {labels.dtype}")
    lowest, highest = labels.min(), labels.max()
    if lowest < 0 or highest >= labels.size:
        raise InputError(f"region ids run from {lowest} to {highest}; number the regions 0..R-1")
    areas = np.bincount(labels.ravel())
    if not areas.all():
        raise InputError(f"no pixel has region id {np.argmin(areas)}; number the regions 0..R-1 without gaps")
    return areas


def compute_cell_weights(
    labels: Array, rows: int, columns: int, *, interpolation: Interpolation = "bilinear"
) -> sparse.csr_array:
    """W (R, rows * columns), sparse float32: the share of each map cell in each region.

    The cells tile the photo edge to edge, so pixel i of n lies at (i + 1/2) rows / n - 1/2 among the
    centres of the rows. Beyond the outermost centres the map is held constant.
    """
    areas = measure_areas(labels)
    height, width = labels.shape
    top, down = _interpolate(height, rows, interpolation)
    left, right = _interpolate(width, columns, interpolation)
    shares = np.zeros((len(areas), rows, columns))
    _add_cell_shares(labels, top, down, left, right, shares)
    weights = sparse.csr_array(shares.reshape(len(areas), -1))
    weights.data /= np.repeat(areas, np.diff(weights.indptr))
    return sparse.csr_array(weights, dtype=np.float32)


def pool_map(values: Array, weights: sparse.csr_array) -> Array:
    """(R, C): the map `values` (rows, columns, C) averaged by `weights` (R, rows * columns)."""
    return weights @ np.ascontiguousarray(values.reshape(-1, values.shape[2]))


def compute_colour_histograms(pixels: Array, labels: Array, *, bins: int = 8, soft: bool = True) -> Array:
    """(R, bins^3) float32: the shares of Lab bins in each region of RGB `pixels` (h, w, 3) uint8.

    The bin of intervals (l, a, b) is column (l bins + a) bins + b; every row sums to one.
    """
    if pixels.shape != (*labels.shape, 3) or pixels.dtype != np.uint8:
        raise InputError(
            f"pixels must be (h, w, 3) uint8 with labels (h, w), not {pixels.shape} {pixels.dtype} with {labels.shape}"
        )
    if bins < 2:
        raise InputError(f"{bins} bins per axis cannot separate colours; give 2 or more")
    areas = measure_areas(labels)
    lab = cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2LAB)
    count = _count_soft if soft else _count_hard
    counts = count(lab, labels, len(areas), bins)
    return (counts / areas[:, None]).astype(np.float32)


def _interpolate(pixels: int, cells: int, interpolation: Interpolation) -> tuple[Array, Array]:
    """For each pixel along one side, the cell before it and the weight of the cell after it."""
    position = np.clip((np.arange(pixels) + 0.5) * (cells / pixels) - 0.5, 0, cells - 1)
    if interpolation == "nearest":
        position = np.floor(position + 0.5)
    before = np.minimum(position.astype(np.int64), max(cells - 2, 0))
    return before, position - before


@kernel()
def _add_cell_shares(labels: Array, top: Array, down: Array, left: Array, right: Array, shares: Array) -> None:
    """Add every pixel's bilinear weights into shares (R, rows, columns).

    Pixels of a run, in the same region and the same cells along a row, share their targets: the run is summed in
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


def _count_hard(lab: Array, labels: Array, n_regions: int, bins: int) -> Array:
    lightness, a, b = np.moveaxis((2 * lab.astype(np.int64) + 1) * bins >> 9, 2, 0)
    flat = ((labels.astype(np.int64) * bins + lightness) * bins + a) * bins + b
    return np.bincount(flat.ravel(), minlength=n_regions * bins**3).reshape(n_regions, -1)


def _count_soft(lab: Array, labels: Array, n_regions: int, bins: int) -> Array:
    position = np.clip((np.arange(256) + 0.5) * (bins / 256) - 0.5, 0, bins - 1)
    below = np.minimum(position.astype(np.int64), bins - 2)
    counts = np.zeros((n_regions, bins, bins, bins))
    _add_colour_shares(lab, labels, below, position - below, counts)
    return counts.reshape(n_regions, -1)


@kernel()
def _add_colour_shares(lab: Array, labels: Array, below: Array, above: Array, counts: Array) -> None:
    """Add each pixel's eight shares into counts (R, bins, bins, bins); `above` is the upper bin's share."""
    height, width = labels.shape
    for y in range(height):
        for x in range(width):
            lightness, a, b = lab[y, x, 0], lab[y, x, 1], lab[y, x, 2]
            cube = counts[labels[y, x], below[lightness] :, below[a] :, below[b] :]
            ul, ua, ub = above[lightness], above[a], above[b]
            for i in range(2):
                wl = ul if i else 1.0 - ul
                for j in range(2):
                    w = wl * (ua if j else 1.0 - ua)
                    cube[i, j, 0] += w * (1.0 - ub)
                    cube[i, j, 1] += w * ub
