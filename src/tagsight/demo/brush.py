"""Objects painted into a photo: outline, pattern, shading of the surface, shadow on the ground."""

import cv2
import numpy as np

from tagsight.demo.noise import draw_noise, sample_tile
from tagsight.demo.palette import FITTINGS, PAINTS, vary_paint
from tagsight.demo.patterns import PATTERNS
from tagsight.demo.scene import Sprite
from tagsight.types import Array

PERIOD = (12.0, 17.0)  # pixels per repetition of the pattern
SHADE = 0.72  # brightness of shaded parts
EDGE = 0.36  # darkness of the line around a part
LINE = 3  # width in pixels of that line, half of it inside the part


def paint_sprite(rng: np.random.Generator, canvas: Array, sprite: Sprite, light: tuple[float, float]) -> Array:
    """Paint the sprite into `canvas` (h, w, 3) float32, 0..1; returns the share of each pixel it covers (h, w)."""
    window = _find_window(sprite, canvas.shape[:2])
    corner = (window[1].start, window[0].start)
    local = _move(sprite, corner)
    size = canvas[window].shape[:2]
    paint = _paint_surface(rng, local, size)
    colours = {"body": paint, "shade": SHADE * paint, "mark": SHADE * paint}
    layer = paint.copy()
    cover = np.zeros(size, np.float32)
    for part in local.parts:
        share = fill_outline(part.outline, size)
        colour = colours.get(part.paint)
        layer += share[..., None] * ((FITTINGS[part.paint] if colour is None else colour) - layer)
        layer *= (1 - EDGE * share * trace_outline(part.outline, size))[..., None]
        cover = np.maximum(cover, share)
    layer *= _light_surface(rng, cover, light, local)[..., None]
    view = canvas[window]
    if sprite.grounded:
        view *= 1 - 0.5 * _cast_shadow(cover, local, light)[..., None]
    view += cover[..., None] * (layer - view)
    covered = np.zeros(canvas.shape[:2], np.float32)
    covered[window] = cover
    return covered


def fill_outline(outline: Array, size: tuple[int, int]) -> Array:
    """(h, w) float32, 0..1: the share of each pixel inside a closed outline; pixel centres are whole numbers."""
    cover = np.zeros(size, np.uint8)
    cv2.fillPoly(cover, [_fix_points(outline)], 255, cv2.LINE_AA, 4)
    return cover * np.float32(1 / 255)


def trace_outline(outline: Array, size: tuple[int, int]) -> Array:
    """(h, w) float32, 0..1: a line along a closed outline."""
    cover = np.zeros(size, np.uint8)
    cv2.polylines(cover, [_fix_points(outline)], True, 255, LINE, cv2.LINE_AA, 4)
    return cover * np.float32(1 / 255)


def _fix_points(outline: Array) -> Array:
    """Points as whole sixteenths of a pixel, for OpenCV with a shift of 4."""
    return np.round(outline * 16).astype(np.int32)


def _find_window(sprite: Sprite, size: tuple[int, int]) -> tuple[slice, slice]:
    """Rows and columns that hold the sprite and its shadow."""
    x0, y0, x1, y1 = sprite.box
    aside = 0.5 * (y1 - y0) + 8
    return (
        slice(max(0, int(y0 - 8)), min(size[0], int(y1 + 8))),
        slice(max(0, int(x0 - aside)), min(size[1], int(x1 + aside))),
    )


def _move(sprite: Sprite, corner: tuple[int, int]) -> Sprite:
    """The sprite in coordinates whose origin is the corner."""
    x, y = corner
    x0, y0, x1, y1 = sprite.box
    parts = tuple(part._replace(outline=part.outline - corner) for part in sprite.parts)
    return sprite._replace(parts=parts, box=(x0 - x, y0 - y, x1 - x, y1 - y))


def _paint_surface(rng: np.random.Generator, sprite: Sprite, size: tuple[int, int]) -> Array:
    """(h, w, 3): the sprite's pattern of two tones over the whole area."""
    base = np.array(vary_paint(rng, PAINTS[sprite.colour]), np.float32)
    accent = base + np.float32(rng.uniform(0.42, 0.58)) * (1 - base)
    angle = sprite.angle + rng.uniform(-0.5, 0.5) + rng.integers(2) * np.pi / 2
    period = float(rng.uniform(*PERIOD))
    across, down = float(np.cos(angle)) / period, float(np.sin(angle)) / period
    y, x = np.mgrid[: size[0], : size[1]].astype(np.float32)
    u = x * across + y * down + float(rng.random())
    v = y * across - x * down + float(rng.random())
    share = PATTERNS[sprite.pattern](u, v, period)[..., None]
    return base * (1 - share) + accent * share


def _light_surface(rng: np.random.Generator, cover: Array, light: tuple[float, float], sprite: Sprite) -> Array:
    """(h, w) brightness: the object bulges, so parts that face the light are brighter; with some noise."""
    x0, y0, x1, y1 = sprite.box
    roundness = 0.035 * (x1 - x0 + y1 - y0)
    height = cv2.GaussianBlur(cover, (0, 0), roundness)
    slope = cv2.Sobel(height, cv2.CV_32F, 1, 0, ksize=3) * light[0]
    slope += cv2.Sobel(height, cv2.CV_32F, 0, 1, ksize=3) * light[1]
    y, x = np.mgrid[: cover.shape[0], : cover.shape[1]].astype(np.float32)
    sweep = ((x - (x0 + x1) / 2) * light[0] + (y - (y0 + y1) / 2) * light[1]) / (x1 - x0 + y1 - y0)
    wear = sample_tile(draw_noise(rng, slope=1.0), x, y)
    return np.clip(1 - 0.14 * roundness * slope + 0.3 * sweep + 0.03 * wear, 0.4, 1.5)


def _cast_shadow(cover: Array, sprite: Sprite, light: tuple[float, float]) -> Array:
    """(h, w) 0..1: the cover projected on the ground away from the light, and blurred."""
    base = sprite.box[3] - 2
    flat = 0.3
    lean = -0.5 * light[0]
    # The shadow of a point at height t above the base is t * lean aside of it and t * flat above the base.
    warp = np.array([[1.0, -lean, lean * base], [0.0, flat, (1 - flat) * base]])
    shadow = cv2.warpAffine(cover, warp, (cover.shape[1], cover.shape[0]), flags=cv2.INTER_LINEAR)
    return cv2.GaussianBlur(shadow, (0, 0), 2.0)
