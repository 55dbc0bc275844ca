"""Contour strength: the local change of colour and texture at each pixel.

With G_s a Gaussian of s pixels, Lab the photo in CIE L*a*b* and T = G_t * |L - G_t * L| the local strength
of fine detail:

    contour(p) = sum_{s in COLOUR_SCALES} s |grad G_s * Lab|(p)  +  w u |grad G_u * T|(p).

The factor s makes scales comparable: at a step edge s |grad G_s| has the same height for every s. Distances in Lab are
close to perceived ones, so the three channels have equal weights.
"""

import cv2
import numpy as np

from tagsight.types import Array

COLOUR_SCALES = (1.0, 2.0)
DETAIL_SCALE = 1.5  # t
TEXTURE_SCALE = 3.0  # u
TEXTURE_WEIGHT = 2.0  # w

# Rounding errors of float32 at values of about 100; a step of one grey level is a hundred times as strong.
ROUNDING = 1e-3


def measure_contour(pixels: Array) -> Array:
    """(h, w) float32 contour strength of RGB `pixels` (h, w, 3) uint8; 0 in a photo of one colour."""
    lab = cv2.cvtColor(pixels.astype(np.float32) / 255, cv2.COLOR_RGB2Lab)
    contour = np.zeros(pixels.shape[:2], np.float32)
    for scale in COLOUR_SCALES:
        contour += scale * _measure_slope(lab, scale)
    contour += TEXTURE_WEIGHT * TEXTURE_SCALE * _measure_slope(_measure_detail(lab[..., 0]), TEXTURE_SCALE)
    contour[contour < ROUNDING] = 0
    return contour


def _measure_detail(lightness: Array) -> Array:
    """(h, w) T: local mean of the absolute difference from a blurred copy."""
    return _blur(np.abs(lightness - _blur(lightness, DETAIL_SCALE)), DETAIL_SCALE)


def _measure_slope(image: Array, scale: float) -> Array:
    """(h, w) length of the gradient over all channels, after a blur."""
    blurred = _blur(image, scale)
    # 1/8 turns Sobel's sums into a derivative per pixel.
    across = cv2.Sobel(blurred, cv2.CV_32F, 1, 0, ksize=3, scale=1 / 8)
    down = cv2.Sobel(blurred, cv2.CV_32F, 0, 1, ksize=3, scale=1 / 8)
    square = across * across + down * down
    return np.sqrt(square if square.ndim == 2 else square[..., 0] + square[..., 1] + square[..., 2])


def _blur(image: Array, scale: float) -> Array:
    return cv2.GaussianBlur(image, (0, 0), scale)
