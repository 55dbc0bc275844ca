"""s-SVM: linear SVMs learned from true boxes; how far full supervision by boxes goes.

The strongly supervised baseline of Shi et al. (TPAMI); boxes with attributes as in Farhadi et al., "Describing objects
by their attributes", CVPR 2009.

A box's vector is the area-weighted mean of the regions in it. Attribute machines tell boxes with the attribute from
boxes without. Object machines tell boxes of the class from other boxes and from backgrounds, one a photo: what lies
outside all of its boxes. Regions of new photos are scored by the same machines, as if each were a box.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np

from tagsight.baselines.choice import Scale, choose_setting
from tagsight.baselines.linear import SVM_PENALTIES, train_svms
from tagsight.baselines.pooled import learn_space, pool_boxes, stack_bags
from tagsight.evaluation.method import Seen, Tags
from tagsight.evaluation.truth import Instances
from tagsight.features.codebook import Projection, project
from tagsight.features.described import DescribedPhoto
from tagsight.readout.regression import Linear
from tagsight.types import Array, Floats, Ints


class BoxSVM:
    """Machines learned from `instances`, the truth of the photos it will be fitted to, in their order.

    See `evaluation.method.Method`.
    """

    def __init__(self, instances: Sequence[Instances]):
        self._instances = instances

    def fit(self, photos: Sequence[DescribedPhoto], tags: Tags, *, seed: int = 0) -> Self:
        """Learn a machine a tag from the boxes of each photo."""
        instances = self._instances
        self._space = learn_space(photos, seed=seed)
        boxes = np.concatenate(
            [pool_boxes(photo, own.boxes, self._space) for photo, own in zip(photos, instances, strict=True)]
        )
        backgrounds = [
            background
            for photo, own in zip(photos, instances, strict=True)
            for background in pool_background(photo, own.boxes, self._space)
        ]
        classes = np.concatenate([own.objects for own in instances])
        objects = (classes[:, None] == np.arange(tags.objects.shape[1])).astype(np.uint8)
        nothing = np.zeros((len(backgrounds), objects.shape[1]), np.uint8)
        self._objects = _learn(np.vstack([boxes, *backgrounds]), np.vstack([objects, nothing]), seed)
        self._attributes = _learn(boxes, np.concatenate([own.attributes for own in instances]), seed)
        return self

    def look(self, photos: Sequence[DescribedPhoto]) -> list[Seen]:
        """Scores of the regions; a photo has an object as surely as its surest region."""
        seen = []
        for photo in photos:
            X = stack_bags([photo], self._space).X
            objects = _score(self._objects, X)
            outline = np.where(objects.max(axis=1) > 0, objects.argmax(axis=1) + 1, 0)
            seen.append(Seen(objects.max(axis=0), objects, _score(self._attributes, X), outline))
        return seen

    def describe_boxes(self, photo: DescribedPhoto, boxes: Array) -> Floats:
        """(B, K_a) of the mean of each box."""
        return _score(self._attributes, pool_boxes(photo, boxes, self._space))


def pool_background(photo: DescribedPhoto, boxes: Array, space: Projection) -> list[Array]:
    """One vector (d,), the mean of what no box covers; none where boxes cover all."""
    height, width = photo.labels.shape
    covered = np.zeros((height, width), bool)
    for x0, y0, x1, y1 in boxes:
        across, down = width / photo.size[0], height / photo.size[1]
        covered[int(y0 * down) : int(np.ceil(y1 * down)), int(x0 * across) : int(np.ceil(x1 * across))] = True
    area = np.bincount(photo.labels[~covered], minlength=len(photo.features))
    if not area.any():
        return []
    return [(area / area.sum()).astype(np.float32) @ project(photo.features.astype(np.float32), space)]


def _learn(X: Array, truth: Array, seed: int) -> tuple[Linear, Scale]:
    def score(train: Ints, test: Ints, penalty: float) -> Array:
        return train_svms(X[train], truth[train], penalty, seed=seed).score(X[test])

    choice = choose_setting(score, truth, SVM_PENALTIES, seed=seed)
    return train_svms(X, truth, choice.setting, seed=seed), choice.scale


def _score(machines: tuple[Linear, Scale], X: Array) -> Floats:
    linear, scale = machines
    return scale.apply(linear.score(X))
