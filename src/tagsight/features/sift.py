"""Dense SIFT in three opponent colour channels, by convolution.

At each point of a grid and each scale, with bins of b pixels, the patch around the point has 4 x 4 spatial
bins; the bin (i, j) of the point (y, x) is centred at (y + (i - 3/2) b, x + (j - 3/2) b) and holds

    h(i, j, c, o) = sum_p t(p_y - centre_y) t(p_x - centre_x) a_o(grad I_c(p)), t(d) = max(0, 1 - |d| / b) / b

over the channels c and eight orientations o: 384 numbers. Weighting by t shares a pixel linearly between
the nearest bins, so a histogram is a separable convolution, evaluated only where a bin is centred. There is no
Gaussian window; VLFeat's fast dense SIFT has none within a bin either.

A gradient g between the directions e_o and e_{o+1}, 45 degrees apart, is shared as the a_o, a_{o+1} >= 0 with
a_o e_o + a_{o+1} e_{o+1} = g. With p >= q the absolute values of its two components, that is p - q along the axis
and sqrt(2) q along the diagonal: each within 5% of |g| of sharing it linearly by angle, without an arctangent.

The channels are opponent ones, an orthonormal rotation of RGB: (R-G)/sqrt2, (R+G-2B)/sqrt6, (R+G+B)/sqrt3. The three
RGB channels of a photo are nearly equal; of the opponent channels, one has lightness and the other two only edges of
colour. A rotation does not scale them, and all 384 numbers are normalised together (RootSIFT: each divided by their
sum, then its square root), so noise in the chroma of a grey photo stays small.
"""

from typing import NamedTuple

import cv2
import numpy as np

from tagsight.errors import InputError
from tagsight.runtime.kernels import kernel
from tagsight.types import Array

STRIDE = 5
BIN_SIZES = (4, 6, 8, 10)  # b, even, so that bins are centred on pixels; a patch is 4 b wide
SMOOTHING = 6.0  # a scale is blurred by b / SMOOTHING, as in VLFeat's PHOW

FLOOR = 0.5  # grey levels per pixel: the mean gradient at which the numbers of a patch add to half

N_BINS = 4
N_MAPS = 24  # three channels of eight orientations
LENGTH = N_BINS * N_BINS * N_MAPS

_OPPONENT = np.array([[1, -1, 0], [1, 1, -2], [1, 1, 1]]) / np.sqrt([[2], [6], [3]])


class Descriptors(NamedTuple):
    """One vector per scale at each point of a grid that covers the photo."""

    values: Array  # (S, rows, columns, 384) float32; 384 is bin down, bin across, channel, orientation
    rows: Array  # (rows,) y of the points, in pixels
    columns: Array  # (columns,) x of the points


def compute_descriptors(pixels: Array, *, stride: int = STRIDE, bin_sizes: tuple[int, ...] = BIN_SIZES) -> Descriptors:
    """Descriptors of RGB `pixels` (h, w, 3) uint8 every `stride` pixels at each scale, edge to edge.

    Patches may reach beyond the photo, where gradients are zero. A photo smaller than the stride has one point, in its
    middle.
    """
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or pixels.size == 0:
        raise InputError(f"a photo must be RGB (h, w, 3) uint8, not {pixels.shape} {pixels.dtype}")
    if stride < 1 or any(size < 2 or size % 2 for size in bin_sizes):
        raise InputError(f"stride {stride} must be 1 or more, bin sizes {bin_sizes} even and 2 or more")
    height, width = pixels.shape[:2]
    rows, columns = place_grid(height, stride), place_grid(width, stride)
    channels = cv2.transform(pixels.astype(np.float32), _OPPONENT.astype(np.float32))
    values = np.empty((len(bin_sizes), len(rows), len(columns), LENGTH), np.float32)
    maps = np.empty((height, width, N_MAPS), np.float32)
    for size, level in zip(bin_sizes, values, strict=True):
        _share_orientations(cv2.GaussianBlur(channels, (0, 0), size / SMOOTHING), maps)
        _sum_bins(maps, *_compute_taps(rows, size, height), *_compute_taps(columns, size, width), level)
        _normalise(level, np.float32(FLOOR))
    return Descriptors(values, rows, columns)


def place_grid(side: int, stride: int = STRIDE) -> Array:
    """Positions `stride` apart along a side; their cells tile it as nearly as whole pixels allow."""
    count = max(1, round(side / stride))
    return (side - 1 - stride * (count - 1)) // 2 + stride * np.arange(count)


def _compute_taps(points: Array, size: int, side: int) -> tuple[Array, Array]:
    """(P, 4, 2b - 1) pixels under each bin's filter, and their weights, which sum to one inside the photo.

    A pixel beyond the edge has weight zero, and the index of a pixel inside.
    """
    reach = np.arange(1 - size, size)
    centres = points[:, None] + np.arange(N_BINS) * size - (N_BINS - 1) * size // 2
    taps = centres[..., None] + reach
    weights = np.where((taps >= 0) & (taps < side), (size - np.abs(reach)) / size**2, 0.0)
    return np.clip(taps, 0, side - 1), weights.astype(np.float32)


@kernel()
def _share_orientations(channels: Array, maps: Array) -> None:
    """Fill maps (h, w, 24) from channels (h, w, 3): a_o of each channel's central differences."""
    height, width, _ = channels.shape
    half, diagonal = np.float32(0.5), np.float32(np.sqrt(2.0))
    for y in range(height):
        above, below = max(y - 1, 0), min(y + 1, height - 1)
        for x in range(width):
            left, right = max(x - 1, 0), min(x + 1, width - 1)
            for o in range(24):
                maps[y, x, o] = 0
            for c in range(3):
                across = half * (channels[y, right, c] - channels[y, left, c])
                down = half * (channels[below, x, c] - channels[above, x, c])
                p, q = abs(across), abs(down)
                east, south = across >= 0, down >= 0
                side, upright = (0 if east else 4), (2 if south else 6)
                axis = side if p >= q else upright
                corner = (1 if south else 7) if east else (3 if south else 5)
                maps[y, x, 8 * c + axis] = abs(p - q)
                maps[y, x, 8 * c + corner] = diagonal * min(p, q)


@kernel()
def _sum_bins(maps: Array, tap_y: Array, weight_y: Array, tap_x: Array, weight_x: Array, level: Array) -> None:
    """Fill level (rows, columns, 384) with the histograms: columns are summed first, into one line of the photo."""
    rows, columns, _ = level.shape
    width = maps.shape[1]
    flat = maps.reshape(maps.shape[0], width * 24)
    line = np.empty(width * 24, np.float32)
    for r in range(rows):
        for i in range(4):
            line[:] = 0
            for t in range(tap_y.shape[2]):
                weight = weight_y[r, i, t]
                if weight > 0:
                    source = flat[tap_y[r, i, t]]
                    for n in range(width * 24):
                        line[n] += weight * source[n]
            for c in range(columns):
                for j in range(4):
                    target = level[r, c, (4 * i + j) * 24 : (4 * i + j + 1) * 24]
                    target[:] = 0
                    for t in range(tap_x.shape[2]):
                        weight = weight_x[c, j, t]
                        source = line[24 * tap_x[c, j, t] : 24 * tap_x[c, j, t] + 24]
                        for n in range(24):
                            target[n] += weight * source[n]


@kernel()
def _normalise(level: Array, floor: np.float32) -> None:
    """Replace each histogram h by sqrt(h / (sum h + 16 floor)), in place."""
    rows, columns, length = level.shape
    for r in range(rows):
        for c in range(columns):
            total = np.float32(16.0) * floor
            for n in range(length):
                total += level[r, c, n]
            scale = np.float32(1.0) / total
            for n in range(length):
                level[r, c, n] = np.sqrt(level[r, c, n] * scale)
