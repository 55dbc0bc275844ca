"""Class activation maps: classifiers of photos by their tags, applied to regions.

Zhou et al., "Learning deep features for discriminative localization", CVPR 2016, with photos as bags of regions
(`classifiers.bags`). The penalty is chosen by cross-validation over photos.

A region is labelled with its best object if that scores above a threshold. Where masks of training photos are given,
the threshold maximises the mean IoU of regions in held-out folds; otherwise it is 0, the classifier's decision
boundary. Reported log-odds are calibrated by Platt scaling (`model_selection`), which accounts for how rare a tag is.
The segmentation uses uncalibrated scores, so that rare objects are not suppressed.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np

from tagsight.classifiers.bags import Bags, fit_class_activation, pool_parts, pool_scores
from tagsight.demo.mask_measures import VOID
from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array, Floats, Ints
from tagsight_bench.baselines.model_selection import select_setting
from tagsight_bench.baselines.region_vectors import (
    compute_box_shares,
    compute_region_miou,
    fit_projection,
    label_regions,
    stack_bags,
)
from tagsight_bench.evaluation.method import MethodPrediction, Tags, add_zero_background

PENALTIES = (1e-3, 2e-4)
FOLDS = 2  # of the cross-validation; few, since fitting is expensive
N_THRESHOLDS = 99  # candidates


class ClassActivation:
    """Tag classifiers with log-sum-exp pooling (see `evaluation.method.Method`).

    `masks` (H, W) belong to the photos given to `fit`, in their order, None where there is no mask.
    """

    def __init__(self, masks: Sequence[Array | None] = ()):
        self._masks = masks

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Fit one classifier per tag."""
        truth = np.hstack(tags)
        self._n_objects = tags.objects.shape[1]
        self._projection = fit_projection(photos, seed=seed)
        bags = stack_bags(photos, self._projection)
        d = bags.X.shape[1]
        held_out = {penalty: np.empty((len(bags.X), self._n_objects), np.float32) for penalty in PENALTIES}

        def score(train: Ints, test: Ints, penalty: float) -> Array:
            test_bags = bags.take(test)
            scores = fit_class_activation([bags.take(train)], d, truth[train], penalty).score(test_bags.X)
            held_out[penalty][bags.rows(test)] = scores[:, : self._n_objects]
            return pool_scores(scores, test_bags)

        choice = select_setting(score, truth, PENALTIES, seed=seed, folds=FOLDS)
        self._scaling = choice.scaling
        self._threshold = self._choose_threshold(photos, bags, held_out[choice.setting])
        self._classifiers = fit_class_activation([bags], d, truth, choice.setting)
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Scores of the regions."""
        bags = stack_bags(photos, self._projection)
        scores = self._classifiers.score(bags.X)
        pooled = self._scaling.apply(pool_scores(scores, bags))[:, : self._n_objects]
        predictions = []
        for photo, own in zip(pooled, np.split(scores, bags.first[1:-1]), strict=True):
            objects, attributes = np.split(self._scaling.apply(own), [self._n_objects], axis=1)
            above = own[:, : self._n_objects] - self._threshold
            predictions.append(MethodPrediction(photo, objects, attributes, add_zero_background(above)))
        return predictions

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) log-odds, with each box as a bag of regions."""
        scores = self._classifiers.score(stack_bags([photo], self._projection).X)[:, self._n_objects :]
        return self._scaling.columns(self._n_objects).apply(pool_parts(scores, compute_box_shares(photo, boxes)))

    def _choose_threshold(self, photos: Sequence[PhotoFeatures], bags: Bags, scores: Array) -> float:
        """The threshold from object scores (N, K_o) of regions in held-out folds."""
        n_labels = self._n_objects + 1
        truth = np.full(len(scores), VOID)
        masks = self._masks or (None,) * len(photos)
        for photo, mask, first in zip(photos, masks, bags.first[:-1], strict=True):
            if mask is not None:
                truth[first : first + len(photo.features)] = label_regions(photo, mask, n_labels)
        known = truth != VOID
        return choose_threshold(scores[known], truth[known], bags.share[known]) if known.any() else 0.0


def choose_threshold(scores: Array, truth: Ints, area: Floats) -> float:
    """The threshold of object scores (n, K_o) with the highest mean IoU, of regions labelled `truth` (n,)."""
    best, label = scores.max(axis=1), scores.argmax(axis=1) + 1

    def compute_miou(threshold: float) -> float:
        return compute_region_miou(truth, np.where(best > threshold, label, 0), area, scores.shape[1] + 1)

    return float(max(np.quantile(best, np.linspace(0.0, 1.0, N_THRESHOLDS)), key=compute_miou))
