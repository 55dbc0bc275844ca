"""Small photos, predictions and ground truths for the protocols."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array, Floats
from tagsight_bench.evaluation.method import MethodPrediction, Tags, add_zero_background
from tagsight_bench.evaluation.truth import Instances


def make_photo(*, size: tuple[int, int] = (40, 20), rows: int = 2, columns: int = 4) -> PhotoFeatures:
    """A photo analysed at half its size, cut into a grid of regions in reading order."""
    width, height = size[0] // 2, size[1] // 2
    down, across = np.arange(height) * rows // height, np.arange(width) * columns // width
    labels = (down[:, None] * columns + across).astype(np.int32)
    n = rows * columns
    return PhotoFeatures(
        np.arange(n, dtype=np.float16)[:, None], labels, np.zeros((0, 2), np.int32), np.zeros(0, np.float32), size
    )


def make_prediction(
    objects: Sequence[Sequence[float]], attributes: Sequence[Sequence[float]], **parts: Array
) -> MethodPrediction:
    """A prediction whose photo scores are the maxima over regions, with background at score 0."""
    scores = np.array(objects, float)
    attribute_scores = np.array(attributes, float).reshape(len(scores), -1)
    return MethodPrediction(scores.max(axis=0), scores, attribute_scores, add_zero_background(scores))._replace(**parts)


def make_instances(*instances: tuple[int, tuple[int, int, int, int], Sequence[int]]) -> Instances:
    """Instances from triples (object, box, attributes)."""
    objects, boxes, attributes = zip(*instances, strict=True)
    return Instances(np.array(objects), np.array(boxes), np.array(attributes))


def draw_world(
    seed: int, *, n_photos: int = 30, n_objects: int = 4, n_attributes: int = 6
) -> tuple[list[PhotoFeatures], list[MethodPrediction], list[Instances]]:
    """Photos of eight regions with random predictions, rounded so that some tie, and random truth."""
    rng = np.random.default_rng(seed)
    photos, predictions, truth = [], [], []
    for _ in range(n_photos):
        photos.append(make_photo())
        objects = rng.normal(size=(8, n_objects)).round(1)
        predictions.append(
            MethodPrediction(
                objects.max(axis=0),
                objects,
                rng.normal(size=(8, n_attributes)).round(1),
                add_zero_background(objects),
            )
        )
        n = rng.integers(1, 4)
        corner = np.stack([rng.integers(0, 20, n), rng.integers(0, 10, n)], axis=1)
        boxes = np.hstack([corner, corner + rng.integers(2, 10, (n, 2))])
        truth.append(Instances(rng.integers(0, n_objects, n), boxes, rng.integers(0, 2, (n, n_attributes))))
    return photos, predictions, truth


class FixedMethod:
    """A method with given scores for the boxes of each photo."""

    def __init__(self, answers: dict[int, Floats]):
        self._answers = answers  # by identity of the photo

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        raise NotImplementedError

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        answer = self._answers[id(photo)]
        assert len(answer) == len(boxes)
        return answer
