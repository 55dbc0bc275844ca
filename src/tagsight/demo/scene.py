"""The plan of one photo: objects, their attributes and positions."""

from typing import NamedTuple

import numpy as np

from tagsight.demo.backdrops import PLACES
from tagsight.demo.outlines import cut_jagged
from tagsight.demo.palette import PAINTS
from tagsight.demo.patterns import PATTERNS
from tagsight.demo.shapes import SHAPES, Part

SIZE = (320, 240)
JAGGED = "jagged"
TALL = "tall"
ATTRIBUTES = (*PAINTS, *PATTERNS, JAGGED, TALL)

COUNTS = (0.3, 0.5, 0.2)  # probabilities of one, two and three objects
SPANS = (
    (115.0, 150.0),
    (98.0, 124.0),
    (84.0, 100.0),
)  # pixels: range of the square root of the box area, by number of objects
TOOTH = 7.5  # pixels
CUT = ("body", "shade", "mark")  # paints of the parts that are jagged if the object is
BUILDS = {JAGGED: 0.5, TALL: 0.35}  # probability of each, independently


class Sprite(NamedTuple):
    """An object at its position; the outlines of its parts are in pixels of the photo."""

    name: str
    attributes: tuple[str, ...]  # colour, pattern, then those of BUILDS that it has
    parts: tuple[Part, ...]
    box: tuple[float, float, float, float]  # x0, y0, x1, y1
    angle: float  # radians, of the object and its pattern
    grounded: bool

    @property
    def colour(self) -> str:
        """The name of its paint."""
        return self.attributes[0]

    @property
    def pattern(self) -> str:
        """The name of its pattern."""
        return self.attributes[1]


class Scene(NamedTuple):
    """A backdrop, its light, and its objects, the farthest first."""

    place: str
    horizon: float  # pixels from the top
    light: tuple[float, float]  # unit vector towards the light, in the plane of the photo
    sprites: tuple[Sprite, ...]


def plan_scene(rng: np.random.Generator) -> Scene:
    """Choose a backdrop and one to three objects of different classes that hardly overlap."""
    while True:
        scene = _try_scene(rng)
        if scene is not None:
            return scene


def _try_scene(rng: np.random.Generator) -> Scene | None:
    """One attempt; None if there was no room for an object."""
    horizon = SIZE[1] * rng.uniform(0.3, 0.5)
    count = int(rng.choice(len(COUNTS), p=COUNTS)) + 1
    names = rng.permutation(list(SHAPES))[:count]
    colours = _choose_differing(rng, list(PAINTS), count)
    patterns = _choose_differing(rng, list(PATTERNS), count)
    sprites: list[Sprite] = []
    for name, colour, pattern in zip(names, colours, patterns, strict=True):
        builds = (build for build, chance in BUILDS.items() if rng.random() < chance)
        sprite = _make_sprite(rng, str(name), (colour, pattern, *builds), rng.uniform(*SPANS[count - 1]))
        placed = _find_room(rng, sprite, [other.box for other in sprites], horizon)
        if placed is None:
            return None
        sprites.append(placed)
    slant = rng.uniform(-0.75, 0.75) * np.pi / 2
    return Scene(
        str(rng.choice(list(PLACES))),
        horizon,
        (float(np.sin(slant)), float(-np.cos(slant))),
        tuple(sorted(sprites, key=lambda sprite: sprite.box[3])),
    )


def _choose_differing(rng: np.random.Generator, words: list[str], count: int) -> list[str]:
    """Random words; a repeated word is drawn once more, so that most of them differ."""
    chosen: list[str] = []
    for _ in range(count):
        word = str(rng.choice(words))
        chosen.append(str(rng.choice(words)) if word in chosen else word)
    return chosen


def _make_sprite(rng: np.random.Generator, name: str, attributes: tuple[str, ...], span: float) -> Sprite:
    """Draw the object about the origin; `span` is the square root of the area of its box in pixels."""
    shape = SHAPES[name]
    parts = shape.draw(rng)
    grounded = not shape.flies or rng.random() < 0.4
    angle = rng.uniform(-0.08, 0.08) if grounded else rng.uniform(-0.3, 0.3)
    aspect = np.exp(rng.uniform(-0.08, 0.08) - 0.3 * (TALL in attributes))
    mirror = rng.choice((-1, 1))
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    pose = np.diag([mirror * aspect, 1 / aspect]) @ turn
    posed = [Part(part.outline @ pose, part.paint) for part in parts]
    x0, y0, x1, y1 = _bound(posed)
    zoom = span / np.sqrt((x1 - x0) * (y1 - y0))
    scaled = [Part(part.outline * zoom, part.paint) for part in posed]
    if JAGGED in attributes:
        scaled = [Part(cut_jagged(part.outline, TOOTH), part.paint) if part.paint in CUT else part for part in scaled]
    return Sprite(name, attributes, tuple(scaled), _bound(scaled), float(angle), grounded)


def _find_room(
    rng: np.random.Generator, sprite: Sprite, taken: list[tuple[float, float, float, float]], horizon: float
) -> Sprite | None:
    """Move the sprite into the photo, on the ground if it is grounded, clear of the boxes taken."""
    width, height = SIZE
    x0, y0, x1, y1 = sprite.box
    lowest = max(horizon + 20, y1 - y0 + 4) if sprite.grounded else y1 - y0 + 4
    if x1 - x0 + 8 > width or lowest > height - 4:
        return None
    for _ in range(40):
        shift = np.array((rng.uniform(4, width - 4 - (x1 - x0)) - x0, rng.uniform(lowest, height - 4) - y1))
        box = (x0 + shift[0], y0 + shift[1], x1 + shift[0], y1 + shift[1])
        if all(_measure_overlap(box, other) < 0.04 for other in taken):
            parts = tuple(Part(part.outline + shift, part.paint) for part in sprite.parts)
            return sprite._replace(parts=parts, box=tuple(map(float, box)))
    return None


def _bound(parts: list[Part]) -> tuple[float, float, float, float]:
    points = np.vstack([part.outline for part in parts])
    (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)


def _measure_overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Common area over the area of the smaller box."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    areas = ((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return max(across, 0.0) * max(down, 0.0) / min(areas)
