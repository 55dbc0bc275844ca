"""Colours: paints whose names are attributes, and colours of fittings."""

import colorsys

import numpy as np

Colour = tuple[float, float, float]
"""Red, green and blue, 0..1."""

PAINTS: dict[str, Colour] = {
    "red": (0.80, 0.10, 0.12),
    "blue": (0.12, 0.26, 0.80),
    "green": (0.05, 0.58, 0.22),
    "yellow": (0.95, 0.78, 0.08),
    "purple": (0.56, 0.14, 0.62),
}

FITTINGS: dict[str, Colour] = {
    "dark": (0.12, 0.12, 0.14),
    "glass": (0.62, 0.72, 0.78),
    "wood": (0.40, 0.27, 0.17),
    "horn": (0.80, 0.52, 0.22),
    "white": (0.92, 0.91, 0.88),
}
"""Colours of parts that are not attributes: tyres, panes, trunks, beaks, eyes."""


def vary_paint(rng: np.random.Generator, paint: Colour) -> Colour:
    """The paint with a small random change of hue, saturation and value."""
    hue, saturation, value = colorsys.rgb_to_hsv(*paint)
    return colorsys.hsv_to_rgb(
        (hue + rng.uniform(-0.015, 0.015)) % 1.0,
        min(1.0, saturation * rng.uniform(0.9, 1.05)),
        min(1.0, value * rng.uniform(0.85, 1.1)),
    )
