"""From a painted scene to a photo: uneven light, focus, exposure, grain."""

import cv2
import numpy as np

from tagsight.types import Array


def take_photo(rng: np.random.Generator, scene: Array) -> Array:
    """(h, w, 3) uint8 of a scene (h, w, 3), 0..1, with slightly uneven light, tint, blur and grain."""
    height, width = scene.shape[:2]
    y = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
    x = np.linspace(-1, 1, width, dtype=np.float32)
    lean = rng.uniform(-0.1, 0.1, 2).astype(np.float32)
    light = float(rng.uniform(0.97, 1.15)) + lean[0] * x + lean[1] * y - 0.1 * (x * x + y * y)
    tint = rng.uniform(0.96, 1.04, 3).astype(np.float32)
    lit: Array = scene * light[..., None] * tint
    blurred = cv2.GaussianBlur(lit, (0, 0), rng.uniform(0.45, 0.75))
    # Film grain is larger than a pixel; noise of single pixels would look like a bad sensor.
    white = rng.standard_normal(scene.shape, dtype=np.float32)
    grain = cv2.GaussianBlur(white, (0, 0), 0.6) * float(rng.uniform(0.015, 0.035))
    return np.round(np.clip(blurred + grain, 0, 1) * 255).astype(np.uint8)
