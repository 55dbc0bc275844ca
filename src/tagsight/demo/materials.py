"""Materials of backdrops: colours of a surface at coordinates u across and v down.

Backdrops have dull colours, so that bright ones belong to objects.
"""

from collections.abc import Callable

import numpy as np

from tagsight.demo.noise import draw_noise, sample_tile
from tagsight.demo.palette import Colour
from tagsight.types import Array

Material = Callable[[np.random.Generator, Array, Array], Array]
"""(h, w, 3) colour of the surface at pixel coordinates u, v (h, w)."""


def draw_grass(rng: np.random.Generator, u: Array, v: Array) -> Array:
    """Upright blades over patches of lighter and drier ground."""
    blades = sample_tile(draw_noise(rng, slope=0.7, stretch=0.33), u, v)
    patches = sample_tile(draw_noise(rng, slope=1.8), u * 0.5, v * 0.5)
    return _mix((0.23, 0.29, 0.13), (0.50, 0.52, 0.30), 0.45 + 0.17 * blades + 0.14 * patches)


def draw_sand(rng: np.random.Generator, u: Array, v: Array) -> Array:
    """Grain and shallow ripples."""
    swell = sample_tile(draw_noise(rng, slope=1.8), u, v)
    ripples = np.sin(v * 0.35 + 2.2 * swell)
    grain = sample_tile(draw_noise(rng, slope=0.2), u, v)
    return _mix((0.60, 0.52, 0.40), (0.86, 0.79, 0.67), 0.5 + 0.12 * ripples + 0.13 * grain + 0.08 * swell)


def draw_bricks(rng: np.random.Generator, u: Array, v: Array) -> Array:
    """Rows of bricks in mortar, each brick in its own shade."""
    height = float(rng.uniform(13, 17))
    length = 2.6 * height
    course = np.floor(v / height)
    along = u / length + 0.5 * np.mod(course, 2)
    brick = np.floor(along)
    shade = sample_tile(draw_noise(rng, slope=0.0), brick * 37, course * 61)
    rough = sample_tile(draw_noise(rng, slope=0.9), u, v)
    face = _mix((0.38, 0.27, 0.24), (0.66, 0.50, 0.44), 0.5 + 0.16 * shade + 0.13 * rough)
    joint = np.minimum(_edge_distance(along - brick) * length, _edge_distance(v / height - course) * height)
    mortar = np.clip(1.6 - joint, 0, 1)[..., None]
    return face * (1 - mortar) + _mix((0.52, 0.50, 0.47), (0.70, 0.68, 0.64), 0.5 + 0.2 * rough) * mortar


def draw_wood(rng: np.random.Generator, u: Array, v: Array) -> Array:
    """Boards across, with grain and dark gaps."""
    width = float(rng.uniform(30, 44))
    board = np.floor(v / width)
    wave = sample_tile(draw_noise(rng, slope=1.8, stretch=5.0), u + board * 91, v + board * 53)
    fibre = sample_tile(draw_noise(rng, slope=0.6, stretch=10.0), u + board * 91, v + board * 53)
    shade = sample_tile(draw_noise(rng, slope=0.0), board * 37, board * 11)
    rings = np.sin(9 * wave)
    colour = _mix((0.33, 0.27, 0.22), (0.63, 0.55, 0.46), 0.5 + 0.08 * rings + 0.10 * fibre + 0.10 * shade)
    gap = np.clip(1.5 - _edge_distance(v / width - board) * width, 0, 1)[..., None]
    return colour * (1 - 0.6 * gap)


def draw_concrete(rng: np.random.Generator, u: Array, v: Array) -> Array:
    """Grey with stains and specks."""
    stains = sample_tile(draw_noise(rng, slope=1.6), u, v)
    specks = sample_tile(draw_noise(rng, slope=0.3), u, v)
    return _mix((0.38, 0.38, 0.37), (0.68, 0.67, 0.65), 0.5 + 0.13 * stains + 0.12 * specks)


def draw_sky(rng: np.random.Generator, u: Array, v: Array) -> Array:
    """Blue that is paler towards the horizon (v = 0), with clouds."""
    clouds = sample_tile(draw_noise(rng, slope=1.9, stretch=1.7), u * 0.6, v * 0.9)
    haze = np.exp(v / 90)
    blue = _mix((0.50, 0.63, 0.78), (0.82, 0.87, 0.90), haze)
    cover = np.clip(0.35 + 0.55 * clouds, 0, 0.9)[..., None]
    return blue * (1 - cover) + _mix((0.80, 0.81, 0.84), (0.95, 0.95, 0.95), 0.5 + 0.3 * clouds) * cover


def draw_plaster(rng: np.random.Generator, u: Array, v: Array) -> Array:
    """A wall painted in one pale tone."""
    strokes = sample_tile(draw_noise(rng, slope=1.2), u, v)
    tint = np.array((0.74, 0.74, 0.73)) + rng.uniform(-0.06, 0.06, 3)
    return tint.astype(np.float32) + 0.035 * strokes[..., None]


def draw_water(rng: np.random.Generator, u: Array, v: Array) -> Array:
    """Long waves with highlights."""
    waves = sample_tile(draw_noise(rng, slope=1.1, stretch=4.0), u, v)
    return _mix((0.24, 0.38, 0.43), (0.66, 0.75, 0.77), 0.4 + 0.16 * waves)


def _mix(low: Colour, high: Colour, share: Array) -> Array:
    start, end = np.array(low, np.float32), np.array(high, np.float32)
    return start + np.clip(share, 0.0, 1.0)[..., None] * (end - start)


def _edge_distance(position: Array) -> Array:
    return np.minimum(position, 1 - position)
