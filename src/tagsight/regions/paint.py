"""Maps from regions back to pixels."""

import numpy as np

from tagsight.errors import InputError
from tagsight.types import Array


def paint_regions(values: Array, labels: Array) -> Array:
    """(h, w, ...) map in which each pixel has the value of its region, ``values`` being (R, ...)."""
    if labels.max() >= len(values):
        raise InputError(f"{len(values)} values for region ids up to {labels.max()}; give one value per region")
    return values[labels]


def resize_map(values: Array, size: tuple[int, int]) -> Array:
    """(H, W, ...) nearest-neighbour copy of a pixel map (h, w, ...) at `size` (W, H).

    Pixel i of H takes row floor((i + 1/2) h / H), computed in integers and so without rounding errors.
    """
    width, height = size
    if width < 1 or height < 1:
        raise InputError(f"a photo of size {width} x {height} has no pixels; give (width, height), 1 or more")
    return values[_pick(height, values.shape[0])[:, None], _pick(width, values.shape[1])]


def _pick(length: int, source: int) -> Array:
    return (2 * np.arange(length) + 1) * source // (2 * length)
