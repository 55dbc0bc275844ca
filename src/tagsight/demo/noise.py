"""Periodic noise with detail at every scale, and its values on a surface."""

import cv2
import numpy as np
from scipy import fft

from tagsight.types import Array

TILE = 256


def draw_noise(rng: np.random.Generator, *, slope: float, stretch: float = 1.0) -> Array:
    """(TILE, TILE) float32 of mean 0 and variance 1 that repeats seamlessly.

    Its amplitude falls as frequency^-slope: 0 is white noise, 2 looks like clouds. `stretch` > 1 makes it longer
    across.
    """
    down = np.fft.fftfreq(TILE)[:, None]
    across = np.fft.rfftfreq(TILE)[None, :] * stretch
    frequency = np.hypot(down, across)
    frequency[0, 0] = np.inf if slope > 0 else 1.0
    white = rng.standard_normal((TILE, TILE), dtype=np.float32)
    tile = fft.irfft2(fft.rfft2(white) * (frequency**-slope).astype(np.float32), (TILE, TILE))
    tile -= tile.mean()
    return tile / tile.std()


def sample_tile(tile: Array, u: Array, v: Array) -> Array:
    """(h, w) values of the repeated tile at coordinates `u` across and `v` down, each (h, w)."""
    across, down = np.mod(u, TILE).astype(np.float32), np.mod(v, TILE).astype(np.float32)
    return cv2.remap(tile, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
