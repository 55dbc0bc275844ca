"""Backdrops: a surface above the horizon, and one below it that is seen at a slant."""

from typing import NamedTuple

import cv2
import numpy as np

from tagsight.demo import materials
from tagsight.demo.materials import Material
from tagsight.types import Array

STONES = 7


class Place(NamedTuple):
    """The two surfaces of a backdrop, and the width of the blurred line between them, in pixels."""

    far: Material
    near: Material
    softness: float


PLACES: dict[str, Place] = {
    "meadow": Place(materials.draw_sky, materials.draw_grass, 2.5),
    "beach": Place(materials.draw_water, materials.draw_sand, 3.0),
    "street": Place(materials.draw_bricks, materials.draw_concrete, 0.8),
    "table": Place(materials.draw_plaster, materials.draw_wood, 0.8),
}


def draw_backdrop(rng: np.random.Generator, place: Place, size: tuple[int, int], horizon: float) -> Array:
    """(h, w, 3) float32, 0..1: the backdrop at `size` (w, h), its horizon `horizon` pixels from the top."""
    width, height = size
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    offset = float(rng.uniform(0, 1000))
    far = place.far(rng, x + offset, y - horizon)
    # A plane in perspective: rows and columns are closer together towards the horizon.
    depth = 1.0 / (0.45 + np.maximum(y - horizon, 0) / height)
    near = place.near(rng, (x - width / 2) * depth + offset, -150 * depth)
    _scatter_stones(rng, near, horizon)
    wobble = 1.5 * np.sin(x / rng.uniform(15, 40) + offset) * (place.softness > 1)
    below = np.clip(0.5 + (y - horizon + wobble) / (2 * place.softness), 0, 1)[..., None]
    return far * (1 - below) + near * below


def _scatter_stones(rng: np.random.Generator, ground: Array, horizon: float) -> None:
    """Draw small dull stones with shadows on the ground: clutter that no tag names."""
    height, width = ground.shape[:2]
    for _ in range(rng.integers(STONES + 1)):
        y = rng.uniform(horizon + 8, float(height))
        radius = rng.uniform(2.0, 6.0) * (0.5 + y / height)
        angles = np.sort(rng.uniform(0, 2 * np.pi, 9))
        rim: Array = np.stack([np.cos(angles), 0.6 * np.sin(angles)], axis=1) * radius * rng.uniform(0.7, 1.1, (9, 1))
        rim += (rng.uniform(0, width), y)
        tone = rng.uniform(0.25, 0.6) + rng.uniform(-0.05, 0.05, 3)
        for shift, colour in ((1.5, (0.15, 0.14, 0.12)), (0.0, tuple(map(float, tone)))):
            cv2.fillPoly(ground, [np.round((rim + shift) * 16).astype(np.int32)], colour, cv2.LINE_8, 4)
