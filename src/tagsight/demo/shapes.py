"""The shapes of objects: parts drawn one over the other, about two units wide, with random proportions.

`body` parts have the paint and pattern of the object; `shade` parts have the same but darker, and so do `mark` parts,
which lie inside the outline. The other parts have the colour of a fitting.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tagsight.demo.outlines import curve, ellipse, polygon, rectangle
from tagsight.types import Array


class Part(NamedTuple):
    """One piece of an object."""

    outline: Array  # (P, 2)
    paint: str


class Shape(NamedTuple):
    """The function that draws an object, and whether the object can be in the air."""

    draw: Callable[[np.random.Generator], tuple[Part, ...]]
    flies: bool = False


def draw_fish(rng: np.random.Generator) -> tuple[Part, ...]:
    """A side view, head to the right."""
    belly, tail, fin = rng.uniform(0.42, 0.58), rng.uniform(0.4, 0.6), rng.uniform(0.15, 0.3)
    body = curve(
        (1.0, 0.02), (0.6, -belly * 0.8), (0.05, -belly), (-0.7, -0.12), (-0.7, 0.12), (0.05, belly),
        (0.6, belly * 0.8),
    )  # fmt: skip
    return (
        Part(polygon((-0.55, 0), (-1.15, -tail), (-0.98, 0), (-1.15, tail)), "shade"),
        Part(curve((-0.45, -belly * 0.6), (0.0, -belly - fin), (0.4, -belly * 0.7), (0, -0.1)), "shade"),
        Part(curve((-0.1, belly * 0.7), (-0.3, belly + fin), (0.2, belly * 0.8)), "shade"),
        Part(body, "body"),
        Part(curve((0.1, -0.06), (-0.28, 0.04), (0.04, 0.2)), "mark"),
        Part(curve((0.36, -belly * 0.75), (0.24, 0.0), (0.36, belly * 0.75), (0.31, 0.0)), "dark"),
        Part(ellipse(0.62, -0.12, 0.13, 0.13), "white"),
        Part(ellipse(0.65, -0.12, 0.07, 0.07), "dark"),
        Part(curve((0.98, 0.08), (0.8, 0.14), (0.68, 0.24), (0.82, 0.2)), "dark"),
    )


def draw_tree(rng: np.random.Generator) -> tuple[Part, ...]:
    """A trunk under a crown of lobes."""
    lobes, girth, turn = rng.integers(6, 9), rng.uniform(0.11, 0.16), rng.uniform(0, np.pi)
    angles = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    reach = 0.82 + 0.2 * np.abs(np.sin(lobes * angles / 2 + turn))
    crown = np.stack([0.85 * reach * np.cos(angles), 0.75 * reach * np.sin(angles) - 0.35], axis=1)
    places = ((-0.35, -0.45), (0.2, -0.6), (0.3, -0.15), (-0.2, 0.0))
    tufts = [_crescent(x, y, rng.uniform(0.16, 0.24)) for x, y in places]
    trunk = np.array(((-1, 0), (1, 0), (1.3, 1.0), (2.2, 1.15), (-2.2, 1.15), (-1.3, 1.0))) * (girth, 1.0)
    return (
        Part(trunk, "wood"),
        Part(crown, "body"),
        *(Part(tuft, "mark") for tuft in tufts),
    )


def draw_house(rng: np.random.Generator) -> tuple[Part, ...]:
    """Walls, a roof, a chimney, a door and two windows."""
    eaves, ridge, door = rng.uniform(-0.25, -0.05), rng.uniform(-1.05, -0.85), rng.uniform(-0.15, 0.15)
    chimney = rng.choice((-0.5, 0.4))
    return (
        Part(rectangle(chimney, ridge, chimney + 0.2, eaves), "wood"),
        Part(rectangle(-0.8, eaves, 0.8, 0.9), "body"),
        Part(polygon((-1.0, eaves + 0.06), (-0.55, ridge), (0.55, ridge), (1.0, eaves + 0.06)), "shade"),
        Part(rectangle(door - 0.15, 0.32, door + 0.15, 0.9), "dark"),
        Part(rectangle(-0.62, 0.14, -0.3, 0.5), "glass"),
        Part(rectangle(0.3, 0.14, 0.62, 0.5), "glass"),
        Part(rectangle(-0.475, 0.14, -0.445, 0.5), "white"),
        Part(rectangle(0.445, 0.14, 0.475, 0.5), "white"),
    )


def draw_mug(rng: np.random.Generator) -> tuple[Part, ...]:
    """A cup with a handle to the right, from slightly above."""
    foot, rim, lip = rng.uniform(0.5, 0.65), 0.68, rng.uniform(0.13, 0.2)
    angles = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 16)
    arc = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    handle = np.vstack([arc * (0.52, 0.5), arc[::-1] * (0.32, 0.3)])
    side = np.linspace(0, np.pi, 16)
    bottom = np.stack([foot * np.cos(side), 0.78 + lip * np.sin(side)], axis=1)
    return (
        Part(handle + np.array((0.55, 0.02)), "shade"),
        Part(np.vstack([bottom, polygon((-rim, -0.75), (rim, -0.75))]), "body"),
        Part(ellipse(0, -0.75, rim, lip), "white"),
        Part(ellipse(0, -0.74, rim - 0.07, lip - 0.05), "wood"),
    )


def draw_car(rng: np.random.Generator) -> tuple[Part, ...]:
    """A side view, bonnet to the right."""
    roof, rear, wheel = rng.uniform(-0.68, -0.55), rng.uniform(-0.75, -0.5), rng.uniform(0.21, 0.26)
    top = roof + 0.08
    body = polygon(
        (-1.1, 0.25), (-1.12, -0.12), (rear - 0.2, -0.18), (rear + 0.02, roof), (0.22, roof), (0.55, -0.16),
        (1.02, -0.04), (1.12, 0.25),
    )  # fmt: skip
    parts = [
        Part(body, "body"),
        Part(rectangle(-1.1, 0.15, 1.1, 0.25), "mark"),
        Part(polygon((rear - 0.02, -0.18), (rear + 0.1, top), (-0.18, top), (-0.18, -0.18)), "glass"),
        Part(polygon((-0.1, -0.18), (-0.1, top), (0.18, top), (0.42, -0.18)), "glass"),
        Part(ellipse(1.02, 0.05, 0.07, 0.06), "white"),
    ]
    for x in (-0.62, 0.64):
        parts += [
            Part(ellipse(x, 0.3, wheel, wheel), "dark"),
            Part(ellipse(x, 0.3, 0.45 * wheel, 0.45 * wheel), "glass"),
        ]
    return tuple(parts)


def draw_star(rng: np.random.Generator) -> tuple[Part, ...]:
    """Five points, each with a light and a dark facet."""
    waist = rng.uniform(0.42, 0.5)
    angles = -np.pi / 2 + np.pi * np.arange(10) / 5
    reach = np.where(np.arange(10) % 2, waist, 1.0)
    rim = np.stack([np.cos(angles), np.sin(angles)], axis=1) * reach[:, None]
    facets = (Part(np.array([(0, 0), rim[i], rim[(i + 1) % 10]]), "mark") for i in range(0, 10, 2))
    return (Part(rim, "body"), *facets)


def draw_bird(rng: np.random.Generator) -> tuple[Part, ...]:
    """A plump bird from the side, beak to the right, wing folded or slightly raised."""
    head, lift = rng.uniform(0.33, 0.39), rng.uniform(-0.45, 0.15)
    return (
        Part(polygon((-0.5, -0.12), (-1.12, -0.38), (-1.2, -0.1), (-1.05, 0.1), (-0.45, 0.3)), "shade"),
        Part(rectangle(-0.2, 0.4, -0.07, 0.92), "horn"),
        Part(rectangle(0.14, 0.4, 0.27, 0.92), "horn"),
        Part(polygon((0.8, -0.66), (1.34, -0.42), (0.8, -0.3)), "horn"),
        Part(curve((0.76, 0.0), (0.45, 0.5), (-0.25, 0.54), (-0.75, 0.1), (-0.3, -0.3), (0.35, -0.5)), "body"),
        Part(ellipse(0.58, -0.46, head, head), "body"),
        Part(curve((0.3, -0.05), (0.05, 0.28), (-0.45, 0.22), (-0.8, lift), (-0.25, -0.14)), "shade"),
        Part(ellipse(0.68, -0.55, 0.12, 0.12), "white"),
        Part(ellipse(0.7, -0.55, 0.07, 0.07), "dark"),
    )


def draw_butterfly(rng: np.random.Generator) -> tuple[Part, ...]:
    """Four wings at a dark body, from above."""
    spread, drop = rng.uniform(0.85, 1.0), rng.uniform(0.65, 0.85)
    hind = curve((0, 0.05), (0.35, 0.1), (0.75, 0.4), (0.55, drop), (0.2, 0.6))
    fore = curve((0, -0.15), (0.45, -0.6), (spread, -0.8), (spread, -0.25), (0.45, 0.12))
    return (
        *(Part(hind * (side, 1), "shade") for side in (-1, 1)),
        *(Part(fore * (side, 1), "body") for side in (-1, 1)),
        Part(ellipse(0, 0, 0.09, 0.5), "dark"),
        Part(ellipse(0, -0.5, 0.12, 0.12), "dark"),
    )


SHAPES: dict[str, Shape] = {
    "bird": Shape(draw_bird, flies=True),
    "butterfly": Shape(draw_butterfly, flies=True),
    "car": Shape(draw_car),
    "fish": Shape(draw_fish, flies=True),
    "house": Shape(draw_house),
    "mug": Shape(draw_mug),
    "star": Shape(draw_star, flies=True),
    "tree": Shape(draw_tree),
}


def _crescent(x: float, y: float, radius: float) -> Array:
    """The lower rim of a clump of leaves."""
    return curve((x - radius, y), (x, y + 0.75 * radius), (x + radius, y), (x, y + 0.4 * radius))
