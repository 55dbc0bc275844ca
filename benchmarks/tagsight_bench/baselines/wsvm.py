"""w-SVM: a linear SVM a tag on whole photos; the rival that does not look where.

Cortes and Vapnik, "Support-vector networks", Machine Learning 1995; scores made comparable after Platt, 1999. Shi et
al. (TPAMI) use it as their weakly supervised baseline.

A photo's vector is the area-weighted mean of its regions. Nothing is located: each region has the scores of its
photo, and the outline paints the whole photo with its surest object, if that is more probable than not. A box is
described by applying the photo's machines to the mean of the regions in it.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np

from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array, Floats, Ints
from tagsight_bench.baselines.choice import choose_setting
from tagsight_bench.baselines.linear import SVM_PENALTIES, train_svms
from tagsight_bench.baselines.pooled import learn_space, pool_boxes, stack_bags
from tagsight_bench.evaluation.method import MethodPrediction, Tags, put_background_at_zero


class PhotoSVM:
    """Image-level machines (see `evaluation.method.Method`)."""

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Learn a machine a tag; C is chosen by cross-validation over the photos."""
        truth = np.hstack(tags)
        self._n_objects = tags.objects.shape[1]
        self._space = learn_space(photos, seed=seed)
        X = stack_bags(photos, self._space).means

        def score(train: Ints, test: Ints, penalty: float) -> Array:
            return train_svms(X[train], truth[train], penalty, seed=seed).score(X[test])

        choice = choose_setting(score, truth, SVM_PENALTIES, seed=seed)
        self._scale = choice.scale
        self._machines = train_svms(X, truth, choice.setting, seed=seed)
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """The photo's scores, for each of its regions."""
        odds = self._scale.apply(self._machines.score(stack_bags(photos, self._space).means))
        return [self._spread(row, len(photo.features)) for row, photo in zip(odds, photos, strict=True)]

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) the machines applied to the mean of each box."""
        scores = self._machines.score(pool_boxes(photo, boxes, self._space))
        return self._scale.apply(scores)[:, self._n_objects :]

    def _spread(self, odds: Floats, n_regions: int) -> MethodPrediction:
        objects, attributes = np.split(odds, [self._n_objects])
        everywhere = np.tile(objects, (n_regions, 1))
        return MethodPrediction(
            objects, everywhere, np.tile(attributes, (n_regions, 1)), put_background_at_zero(everywhere)
        )
