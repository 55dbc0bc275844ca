"""Patterns of objects: the share of the second tone of the paint on a surface.

A pattern maps coordinates u, v in periods, each (h, w), to the share of the second tone, 0..1. `sharpness` is the
number of pixels per period: edges are one pixel soft.
"""

from collections.abc import Callable

import numpy as np

from tagsight.types import Array

Pattern = Callable[[Array, Array, float], Array]


def draw_plain(u: Array, v: Array, sharpness: float) -> Array:
    """One tone."""
    del v, sharpness
    return np.zeros_like(u)


def draw_stripes(u: Array, v: Array, sharpness: float) -> Array:
    """Stripes across u."""
    del v
    return _soften(0.25 - _fold(u), sharpness)


def draw_dots(u: Array, v: Array, sharpness: float) -> Array:
    """Discs; every other row is shifted by half a period."""
    row = np.floor(v)
    return _soften(0.3 - np.hypot(_fold(u + 0.5 * np.mod(row, 2)), v - row - 0.5), sharpness)


def draw_checks(u: Array, v: Array, sharpness: float) -> Array:
    """A chessboard of squares half a period wide."""
    return 0.5 - 2 * (_soften(0.25 - _fold(u), sharpness) - 0.5) * (_soften(0.25 - _fold(v), sharpness) - 0.5)


PATTERNS: dict[str, Pattern] = {
    "plain": draw_plain,
    "striped": draw_stripes,
    "dotted": draw_dots,
    "checked": draw_checks,
}


def _fold(position: Array) -> Array:
    """Distance to the nearest whole number."""
    return np.abs(position - np.round(position))


def _soften(inside: Array, sharpness: float) -> Array:
    return np.clip(0.5 + inside * sharpness, 0.0, 1.0)
