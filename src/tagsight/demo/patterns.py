"""Textures of objects: where the second tone of the paint lies on a surface.

A pattern maps coordinates u, v in periods, each (h, w), to the share of the second tone, 0..1. ``sharpness`` is
pixels to a period: edges are one pixel soft.
"""

from collections.abc import Callable

import numpy as np

from tagsight.types import Array

Pattern = Callable[[Array, Array, float], Array]


def lay_plain(u: Array, v: Array, sharpness: float) -> Array:
    """One tone."""
    del v, sharpness
    return np.zeros_like(u)


def lay_stripes(u: Array, v: Array, sharpness: float) -> Array:
    """Bands across u."""
    del v
    return _soften(0.25 - _fold(u), sharpness)


def lay_dots(u: Array, v: Array, sharpness: float) -> Array:
    """Discs, every other row half a period aside."""
    row = np.floor(v)
    return _soften(0.3 - np.hypot(_fold(u + 0.5 * np.mod(row, 2)), v - row - 0.5), sharpness)


def lay_checks(u: Array, v: Array, sharpness: float) -> Array:
    """Squares of a chess board, half a period wide."""
    return 0.5 - 2 * (_soften(0.25 - _fold(u), sharpness) - 0.5) * (_soften(0.25 - _fold(v), sharpness) - 0.5)


PATTERNS: dict[str, Pattern] = {
    "plain": lay_plain,
    "striped": lay_stripes,
    "dotted": lay_dots,
    "checked": lay_checks,
}


def _fold(position: Array) -> Array:
    """Distance to the nearest whole number."""
    return np.abs(position - np.round(position))


def _soften(inside: Array, sharpness: float) -> Array:
    return np.clip(0.5 + inside * sharpness, 0.0, 1.0)
