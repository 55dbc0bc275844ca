"""w-SVM: one linear SVM per tag on whole photos, without localisation.

Cortes and Vapnik, "Support-vector networks", Machine Learning 1995; scores calibrated after Platt, 1999. It is the
weakly supervised baseline of Shi et al. (TPAMI).

A photo's vector is the area-weighted mean of its regions. Each region has the scores of its photo, so the whole photo
is labelled with its most probable object, if its probability is above one half. A box is described by applying the SVMs
to the mean of the regions in it.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np

from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array, Floats, Ints
from tagsight_bench.baselines.model_selection import select_setting
from tagsight_bench.baselines.region_vectors import fit_projection, pool_boxes, stack_bags
from tagsight_bench.baselines.svm import SVM_PENALTIES, fit_svms
from tagsight_bench.evaluation.method import MethodPrediction, Tags, add_zero_background


class PhotoSVM:
    """SVMs of photos (see `evaluation.method.Method`)."""

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Fit one SVM per tag; C is selected by cross-validation over photos."""
        truth = np.hstack(tags)
        self._n_objects = tags.objects.shape[1]
        self._projection = fit_projection(photos, seed=seed)
        X = stack_bags(photos, self._projection).means

        def score(train: Ints, test: Ints, penalty: float) -> Array:
            return fit_svms(X[train], truth[train], penalty, seed=seed).score(X[test])

        choice = select_setting(score, truth, SVM_PENALTIES, seed=seed)
        self._scaling = choice.scaling
        self._svms = fit_svms(X, truth, choice.setting, seed=seed)
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """The photo's log-odds, repeated for each of its regions."""
        odds = self._scaling.apply(self._svms.score(stack_bags(photos, self._projection).means))
        return [self._repeat(row, len(photo.features)) for row, photo in zip(odds, photos, strict=True)]

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) log-odds of the mean vector of each box."""
        scores = self._svms.score(pool_boxes(photo, boxes, self._projection))
        return self._scaling.apply(scores)[:, self._n_objects :]

    def _repeat(self, odds: Floats, n_regions: int) -> MethodPrediction:
        objects, attributes = np.split(odds, [self._n_objects])
        repeated = np.tile(objects, (n_regions, 1))
        return MethodPrediction(objects, repeated, np.tile(attributes, (n_regions, 1)), add_zero_background(repeated))
