"""A collection whose regions are sums of known vectors, and how well a method finds what was planted."""

from typing import NamedTuple

import numpy as np

from tagsight.demo.mask_measures import mean_defined
from tagsight.features.photo_features import PhotoFeatures
from tagsight.regions import measure_adjacency, resize_map
from tagsight.types import Array, Floats, Ints
from tagsight_bench.evaluation.method import Method, MethodPrediction, Tags
from tagsight_bench.evaluation.ranking import average_precision, measure_columns
from tagsight_bench.evaluation.truth import Instances

OBJECTS, ATTRIBUTES, BACKGROUNDS, WIDTH = 4, 5, 3, 24
ROWS, COLUMNS, CELL = 4, 6, 5  # a grid of regions, CELL pixels a side at the scale of analysis
NOISE = 0.3


class World(NamedTuple):
    """Photos with the truth."""

    photos: list[PhotoFeatures]
    tags: Tags
    labels: list[Ints]  # (R,) 0 background, 1.. objects
    instances: list[Instances]

    @property
    def masks(self) -> list[Array]:
        """True labels of the pixels of whole photos."""
        return [
            resize_map(label[photo.labels], photo.size) for photo, label in zip(self.photos, self.labels, strict=True)
        ]


def draw_world(n_photos: int, *, seed: int) -> World:
    """Photos of one or two objects, each a block of 2 x 2 regions with one or two attributes of its own."""
    shapes = np.random.default_rng(99)  # the same looks in every world
    things = shapes.normal(size=(OBJECTS, WIDTH))
    manners = shapes.normal(size=(ATTRIBUTES, WIDTH))
    grounds = shapes.normal(size=(BACKGROUNDS, WIDTH))
    rng = np.random.default_rng(seed)
    photos, labels, instances = [], [], []
    for _ in range(n_photos):
        label = np.zeros((ROWS, COLUMNS), np.int64)
        prediction = grounds[rng.integers(0, BACKGROUNDS, (ROWS, COLUMNS))]
        found = []
        for place, o in enumerate(rng.permutation(OBJECTS)[: rng.integers(1, 3)]):
            own = rng.permutation(ATTRIBUTES)[: rng.integers(1, 3)]
            top, left = int(rng.integers(0, ROWS - 1)), 3 * place + int(rng.integers(0, 2))
            label[top : top + 2, left : left + 2] = o + 1
            prediction[top : top + 2, left : left + 2] = things[o] + manners[own].sum(axis=0)
            box = 2 * CELL * np.array([left, top, left + 2, top + 2])
            found.append((o, box, np.isin(np.arange(ATTRIBUTES), own)))
        photos.append(make_photo(prediction.reshape(-1, WIDTH) + rng.normal(0, NOISE, (label.size, WIDTH))))
        labels.append(label.ravel())
        instances.append(Instances(*(np.array(part) for part in zip(*found, strict=True))))
    objects = np.array([np.isin(np.arange(OBJECTS), one.objects) for one in instances])
    attributes = np.array([one.attributes.any(axis=0) for one in instances])
    return World(photos, Tags(objects.astype(np.uint8), attributes.astype(np.uint8)), labels, instances)


def make_photo(features: Array) -> PhotoFeatures:
    """A grid of regions in reading order, seen at half the photo's size."""
    cells = np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS)
    pixels = cells.repeat(CELL, axis=0).repeat(CELL, axis=1)
    adjacency = measure_adjacency(pixels)
    size = (2 * CELL * COLUMNS, 2 * CELL * ROWS)
    return PhotoFeatures(features.astype(np.float16), pixels, adjacency.edges, adjacency.boundary, size)


class Verdict(NamedTuple):
    """Shares of right answers; see the functions."""

    outline: float
    location: float
    binding: float
    photo: float
    boxes: float


def judge(method: Method, world: World) -> Verdict:
    seen = method.predict(world.photos)
    return Verdict(
        score_outlines(seen, world), score_location(seen, world), score_binding(seen, world),
        mean_defined(measure_columns(average_precision, np.array([one.photo for one in seen]), world.tags.objects)),
        score_boxes(method, world),
    )  # fmt: skip


def score_outlines(seen: list[MethodPrediction], world: World) -> float:
    """Mean over labels of the share of their regions that have them."""
    found, real = np.concatenate([one.outline for one in seen]), np.concatenate(world.labels)
    return float(np.mean([(found[real == label] == label).mean() for label in range(OBJECTS + 1)]))


def score_location(seen: list[MethodPrediction], world: World) -> float:
    """Share of the objects in photos whose strongest region is one of theirs; chance is 4 / 24."""
    hits = [
        label[one.objects[:, o].argmax()] == o + 1
        for one, label, real in zip(seen, world.labels, world.instances, strict=True)
        for o in real.objects
    ]
    return float(np.mean(hits))


def score_binding(seen: list[MethodPrediction], world: World) -> float:
    """Share of attributes of one of two objects that score higher at its regions; a tie is half. Chance is 1/2."""
    verdicts = []
    for one, label, real in zip(seen, world.labels, world.instances, strict=True):
        if len(real.objects) < 2:
            continue
        first, second = (one.attributes[label == o + 1].mean(axis=0) for o in real.objects)
        differs = real.attributes[0].astype(int) - real.attributes[1]
        verdicts += (0.5 + 0.5 * np.sign((first - second) * differs))[differs != 0].tolist()
    return float(np.mean(verdicts))


def score_boxes(method: Method, world: World) -> float:
    """Mean average precision of attributes over all true boxes."""
    scores: list[Floats] = [
        method.describe_boxes(photo, own.boxes) for photo, own in zip(world.photos, world.instances, strict=True)
    ]
    truth = np.concatenate([own.attributes for own in world.instances])
    return mean_defined(measure_columns(average_precision, np.concatenate(scores), truth))
