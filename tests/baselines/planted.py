"""A collection with planted objects and attributes, and scores of how well a method recovers them."""

from typing import NamedTuple

import numpy as np

from tagsight.features.photo_features import PhotoFeatures
from tagsight.regions import measure_adjacency, resize_map
from tagsight.types import Array, Floats, Ints
from tagsight_bench.evaluation.mask_measures import average_defined
from tagsight_bench.evaluation.method import Method, MethodPrediction, Tags
from tagsight_bench.evaluation.ranking import average_precision, measure_columns
from tagsight_bench.evaluation.truth import Instances

OBJECTS, ATTRIBUTES, BACKGROUNDS, WIDTH = 4, 5, 3, 24
ROWS, COLUMNS, CELL = 4, 6, 5  # a grid of regions, CELL pixels a side at the scale of analysis
NOISE = 0.3


class World(NamedTuple):
    """Photos with their ground truth."""

    photos: list[PhotoFeatures]
    tags: Tags
    labels: list[Ints]  # (R,) 0 background, 1.. objects
    instances: list[Instances]

    @property
    def masks(self) -> list[Array]:
        """True labels of the pixels of full-size photos."""
        return [
            resize_map(label[photo.labels], photo.size) for photo, label in zip(self.photos, self.labels, strict=True)
        ]


def draw_world(n_photos: int, *, seed: int) -> World:
    """Photos of one or two objects, each a block of 2 x 2 regions with one or two attributes of its own."""
    shapes = np.random.default_rng(99)  # the same vectors in every world
    object_vectors = shapes.normal(size=(OBJECTS, WIDTH))
    attribute_vectors = shapes.normal(size=(ATTRIBUTES, WIDTH))
    background_vectors = shapes.normal(size=(BACKGROUNDS, WIDTH))
    rng = np.random.default_rng(seed)
    photos, labels, instances = [], [], []
    for _ in range(n_photos):
        label = np.zeros((ROWS, COLUMNS), np.int64)
        features = background_vectors[rng.integers(0, BACKGROUNDS, (ROWS, COLUMNS))]
        found = []
        for place, o in enumerate(rng.permutation(OBJECTS)[: rng.integers(1, 3)]):
            own = rng.permutation(ATTRIBUTES)[: rng.integers(1, 3)]
            top, left = int(rng.integers(0, ROWS - 1)), 3 * place + int(rng.integers(0, 2))
            label[top : top + 2, left : left + 2] = o + 1
            features[top : top + 2, left : left + 2] = object_vectors[o] + attribute_vectors[own].sum(axis=0)
            box = 2 * CELL * np.array([left, top, left + 2, top + 2])
            found.append((o, box, np.isin(np.arange(ATTRIBUTES), own)))
        photos.append(make_photo(features.reshape(-1, WIDTH) + rng.normal(0, NOISE, (label.size, WIDTH))))
        labels.append(label.ravel())
        instances.append(Instances(*(np.array(part) for part in zip(*found, strict=True))))
    objects = np.array([np.isin(np.arange(OBJECTS), one.objects) for one in instances])
    attributes = np.array([one.attributes.any(axis=0) for one in instances])
    return World(photos, Tags(objects.astype(np.uint8), attributes.astype(np.uint8)), labels, instances)


def make_photo(features: Array) -> PhotoFeatures:
    """A grid of regions in reading order, analysed at half the photo's size."""
    cells = np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS)
    pixels = cells.repeat(CELL, axis=0).repeat(CELL, axis=1)
    adjacency = measure_adjacency(pixels)
    size = (2 * CELL * COLUMNS, 2 * CELL * ROWS)
    return PhotoFeatures(features.astype(np.float16), pixels, adjacency.edges, adjacency.boundary, size)


class Scores(NamedTuple):
    """The scores of the functions below."""

    segmentation: float
    location: float
    binding: float
    photo: float
    boxes: float


def score_method(method: Method, world: World) -> Scores:
    predictions = method.predict(world.photos)
    photo_scores = np.array([one.photo for one in predictions])
    return Scores(
        score_segmentation(predictions, world),
        score_location(predictions, world),
        score_binding(predictions, world),
        average_defined(measure_columns(average_precision, photo_scores, world.tags.objects)),
        score_boxes(method, world),
    )


def score_segmentation(predictions: list[MethodPrediction], world: World) -> float:
    """Mean recall of regions over labels."""
    predicted, true = np.concatenate([one.labels for one in predictions]), np.concatenate(world.labels)
    return float(np.mean([(predicted[true == label] == label).mean() for label in range(OBJECTS + 1)]))


def score_location(predictions: list[MethodPrediction], world: World) -> float:
    """Share of objects whose best region is one of their own; chance is 4 / 24."""
    hits = [
        label[one.objects[:, o].argmax()] == o + 1
        for one, label, instances in zip(predictions, world.labels, world.instances, strict=True)
        for o in instances.objects
    ]
    return float(np.mean(hits))


def score_binding(predictions: list[MethodPrediction], world: World) -> float:
    """Share of attributes that score higher in their own object than in the photo's other one; chance is 1 / 2."""
    correct = []
    for one, label, instances in zip(predictions, world.labels, world.instances, strict=True):
        if len(instances.objects) < 2:
            continue
        first, second = (one.attributes[label == o + 1].mean(axis=0) for o in instances.objects)
        differs = instances.attributes[0].astype(int) - instances.attributes[1]
        correct += (0.5 + 0.5 * np.sign((first - second) * differs))[differs != 0].tolist()
    return float(np.mean(correct))


def score_boxes(method: Method, world: World) -> float:
    """Mean average precision of attributes over all true boxes."""
    scores: list[Floats] = [
        method.describe_boxes(photo, own.boxes) for photo, own in zip(world.photos, world.instances, strict=True)
    ]
    truth = np.concatenate([own.attributes for own in world.instances])
    return average_defined(measure_columns(average_precision, np.concatenate(scores), truth))
