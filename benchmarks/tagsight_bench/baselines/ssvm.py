"""s-SVM: linear SVMs learned from true boxes; how far full supervision by boxes goes.

The strongly supervised baseline of Shi et al. (TPAMI); boxes with attributes as in Farhadi et al., "Describing objects
by their attributes", CVPR 2009.

A box's vector is the area-weighted mean of the regions in it. Attribute machines tell boxes with the attribute from
boxes without. Object machines tell boxes of the class from other boxes and from backgrounds, one a photo: what lies
outside all of its boxes. Regions of new photos are scored by the same machines, as if each were a box; a photo has an
object as its strongest region says, on a scale fitted to the strongest regions of photos left out.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from tagsight.classifiers.bags import Bags
from tagsight.classifiers.regression import Linear
from tagsight.features.codebook import Projection, project
from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array, Floats, Ints
from tagsight_bench.baselines.choice import Scale, choose_setting, fit_scale, score_left_out
from tagsight_bench.baselines.linear import SVM_PENALTIES, train_svms
from tagsight_bench.baselines.pooled import learn_space, pool_boxes, stack_bags
from tagsight_bench.evaluation.method import MethodPrediction, Tags, put_background_at_zero
from tagsight_bench.evaluation.truth import Instances


class Examples(NamedTuple):
    """Boxes, and what is outside of them."""

    X: Array  # (N, d)
    truth: Array  # (N, K) of 0 and 1
    photo: Ints  # (N,) in which they lie


class Machines(NamedTuple):
    """A linear machine a tag, and the scale of its scores."""

    linear: Linear
    scale: Scale
    penalty: float

    def score(self, X: Array) -> Floats:
        """(n, K) log-odds."""
        return self.scale.apply(self.linear.score(X))


class BoxSVM:
    """Machines learned from `instances`, the truth of the photos it will be fitted to, in their order.

    See `evaluation.method.Method`.
    """

    def __init__(self, instances: Sequence[Instances]):
        self._instances = instances

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Learn a machine a tag from the boxes of each photo."""
        instances = self._instances
        self._space = learn_space(photos, seed=seed)
        pairs = list(zip(photos, instances, strict=True))
        boxes = np.concatenate([pool_boxes(photo, own.boxes, self._space) for photo, own in pairs])
        backgrounds = [pool_background(photo, own.boxes, self._space) for photo, own in pairs]
        photo_of_box = np.repeat(np.arange(len(photos)), [len(own.boxes) for own in instances])
        photo_of_background = np.repeat(np.arange(len(photos)), [len(background) for background in backgrounds])
        classes = np.concatenate([own.objects for own in instances])
        objects = (classes[:, None] == np.arange(tags.objects.shape[1])).astype(np.uint8)
        nothing = np.zeros((len(photo_of_background), objects.shape[1]), np.uint8)
        seen = Examples(
            np.concatenate([boxes, *backgrounds]),
            np.vstack([objects, nothing]),
            np.concatenate([photo_of_box, photo_of_background]),
        )
        self._objects = learn_machines(seen, seed)
        self._photos = scale_photos(seen, self._objects.penalty, stack_bags(photos, self._space), tags.objects, seed)
        self._attributes = learn_machines(
            Examples(boxes, np.concatenate([o.attributes for o in instances]), photo_of_box), seed
        )
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Scores of the regions."""
        seen = []
        for photo in photos:
            X = stack_bags([photo], self._space).X
            whole = self._photos.apply(self._objects.linear.score(X).max(axis=0))
            objects = self._objects.score(X)
            seen.append(MethodPrediction(whole, objects, self._attributes.score(X), put_background_at_zero(objects)))
        return seen

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) of the mean of each box."""
        return self._attributes.score(pool_boxes(photo, boxes, self._space))


def pool_background(photo: PhotoFeatures, boxes: Array, space: Projection) -> Array:
    """(1, d) the mean of what no box covers; (0, d) where boxes cover all."""
    height, width = photo.labels.shape
    covered = np.zeros((height, width), bool)
    for x0, y0, x1, y1 in boxes:
        across, down = width / photo.size[0], height / photo.size[1]
        covered[int(y0 * down) : int(np.ceil(y1 * down)), int(x0 * across) : int(np.ceil(x1 * across))] = True
    area = np.bincount(photo.labels[~covered], minlength=len(photo.features))
    vectors = project(photo.features.astype(np.float32), space)
    if not area.any():
        return vectors[:0]
    return (area / area.sum()).astype(np.float32)[None] @ vectors


def learn_machines(seen: Examples, seed: int) -> Machines:
    """Machines of all columns; penalty and scale by cross-validation over photos."""
    X, truth, photo = seen

    def score(train: Ints, test: Ints, penalty: float) -> Array:
        return train_svms(X[train], truth[train], penalty, seed=seed).score(X[test])

    choice = choose_setting(score, truth, SVM_PENALTIES, seed=seed, photos=photo)
    return Machines(train_svms(X, truth, choice.setting, seed=seed), choice.scale, choice.setting)


def scale_photos(seen: Examples, penalty: float, regions: Bags, tags: Array, seed: int) -> Scale:
    """From the score of the strongest region of a photo to the log-odds of its tags (I, K_o)."""

    def score(train: Ints, test: Ints) -> Array:
        mine = np.isin(seen.photo, train)
        rest = regions.take(test)
        scores = train_svms(seen.X[mine], seen.truth[mine], penalty, seed=seed).score(rest.X)
        return np.maximum.reduceat(scores, rest.first[:-1])

    return fit_scale(score_left_out(score, tags, seed=seed), tags)
