"""s-SVM: linear SVMs trained on true boxes, an upper reference with box supervision.

The strongly supervised baseline of Shi et al. (TPAMI); boxes with attributes as in Farhadi et al., "Describing objects
by their attributes", CVPR 2009.

A box's vector is the area-weighted mean of the regions in it. Attribute SVMs separate boxes with the attribute from
boxes without it. Object SVMs separate boxes of the class from other boxes and from backgrounds, one per photo: the area
outside all of its boxes. The same SVMs score the regions of new photos, as if each were a box. A photo's score for an
object is that of its best region, with a Platt scaling of its own.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from tagsight.classifiers.bags import Bags
from tagsight.classifiers.regression import Linear
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.transforms import Projection, project
from tagsight.types import Array, Floats, Ints
from tagsight_bench.baselines.model_selection import PlattScaling, cross_val_scores, fit_platt_scaling, select_setting
from tagsight_bench.baselines.region_vectors import fit_projection, pool_boxes, stack_bags
from tagsight_bench.baselines.svm import SVM_PENALTIES, fit_svms
from tagsight_bench.evaluation.method import MethodPrediction, Tags, add_zero_background
from tagsight_bench.evaluation.truth import Instances


class Examples(NamedTuple):
    """Vectors of boxes and backgrounds."""

    X: Array  # (N, d)
    truth: Array  # (N, K) of 0 and 1
    photo: Ints  # (N,) the photo of each


class TagSVMs(NamedTuple):
    """One linear SVM per tag, with the Platt scaling of its scores."""

    linear: Linear
    scaling: PlattScaling
    penalty: float

    def score(self, X: Array) -> Floats:
        """(n, K) log-odds of X (n, d)."""
        return self.scaling.apply(self.linear.score(X))


class BoxSVM:
    """SVMs fitted to `instances`, the true boxes of the photos given to `fit`, in their order.

    See `evaluation.method.Method`.
    """

    def __init__(self, instances: Sequence[Instances]):
        self._instances = instances

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Fit one SVM per tag to the boxes of all photos."""
        instances = self._instances
        self._projection = fit_projection(photos, seed=seed)
        pairs = list(zip(photos, instances, strict=True))
        boxes = np.concatenate([pool_boxes(photo, own.boxes, self._projection) for photo, own in pairs])
        backgrounds = [pool_background(photo, own.boxes, self._projection) for photo, own in pairs]
        photo_of_box = np.repeat(np.arange(len(photos)), [len(own.boxes) for own in instances])
        photo_of_background = np.repeat(np.arange(len(photos)), [len(background) for background in backgrounds])
        classes = np.concatenate([own.objects for own in instances])
        objects = (classes[:, None] == np.arange(tags.objects.shape[1])).astype(np.uint8)
        no_objects = np.zeros((len(photo_of_background), objects.shape[1]), np.uint8)
        examples = Examples(
            np.concatenate([boxes, *backgrounds]),
            np.vstack([objects, no_objects]),
            np.concatenate([photo_of_box, photo_of_background]),
        )
        self._objects = fit_tag_svms(examples, seed)
        self._photos = fit_photo_scaling(
            examples, self._objects.penalty, stack_bags(photos, self._projection), tags.objects, seed
        )
        self._attributes = fit_tag_svms(
            Examples(boxes, np.concatenate([o.attributes for o in instances]), photo_of_box), seed
        )
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Scores of the regions."""
        predictions = []
        for photo in photos:
            X = stack_bags([photo], self._projection).X
            of_photo = self._photos.apply(self._objects.linear.score(X).max(axis=0))
            objects = self._objects.score(X)
            predictions.append(
                MethodPrediction(of_photo, objects, self._attributes.score(X), add_zero_background(objects))
            )
        return predictions

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) log-odds of the mean vector of each box."""
        return self._attributes.score(pool_boxes(photo, boxes, self._projection))


def pool_background(photo: PhotoFeatures, boxes: Array, projection: Projection) -> Array:
    """(1, d) mean vector of the area that no box covers; (0, d) where boxes cover everything."""
    height, width = photo.labels.shape
    covered = np.zeros((height, width), bool)
    for x0, y0, x1, y1 in boxes:
        scale_x, scale_y = width / photo.size[0], height / photo.size[1]
        covered[int(y0 * scale_y) : int(np.ceil(y1 * scale_y)), int(x0 * scale_x) : int(np.ceil(x1 * scale_x))] = True
    area = np.bincount(photo.labels[~covered], minlength=len(photo.features))
    vectors = project(photo.features.astype(np.float32), projection)
    if not area.any():
        return vectors[:0]
    return (area / area.sum()).astype(np.float32)[None] @ vectors


def fit_tag_svms(examples: Examples, seed: int) -> TagSVMs:
    """SVMs of all columns; penalty and scaling by cross-validation over photos."""
    X, truth, photo = examples

    def score(train: Ints, test: Ints, penalty: float) -> Array:
        return fit_svms(X[train], truth[train], penalty, seed=seed).score(X[test])

    choice = select_setting(score, truth, SVM_PENALTIES, seed=seed, photos=photo)
    return TagSVMs(fit_svms(X, truth, choice.setting, seed=seed), choice.scaling, choice.setting)


def fit_photo_scaling(examples: Examples, penalty: float, regions: Bags, tags: Array, seed: int) -> PlattScaling:
    """Platt scaling from the score of a photo's best region to the log-odds of its tags (I, K_o)."""

    def score(train: Ints, test: Ints) -> Array:
        in_train = np.isin(examples.photo, train)
        test_regions = regions.take(test)
        scores = fit_svms(examples.X[in_train], examples.truth[in_train], penalty, seed=seed).score(test_regions.X)
        return np.maximum.reduceat(scores, test_regions.first[:-1])

    return fit_platt_scaling(cross_val_scores(score, tags, seed=seed), tags)
