"""Class activation: a tag classifier on photos, read off at regions. What one would pick today.

Zhou et al., "Learning deep features for discriminative localization", CVPR 2016, with photos as bags of regions
(`classifiers.bags`): averaging alone asks all of a photo to look like its tag, which on these regions costs
a quarter of the overlap. The penalty is chosen by cross-validation over photos.

A region is painted with its strongest object if that is above a threshold. Masks of training photos, where there are
any, choose it: the mean IoU of regions of photos left out is highest there. Without masks it is 0, where the classifier
itself is undecided. Reported log-odds are Platt's (`choice`), which know how rare a tag is; the outline's are not, lest
rare objects vanish.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np

from tagsight.classifiers.bags import Bags, fit_class_activation, pool_parts, pool_scores
from tagsight.demo.mask_measures import VOID
from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array, Floats, Ints
from tagsight_bench.baselines.choice import choose_setting
from tagsight_bench.baselines.pooled import learn_space, stack_bags, weigh_boxes
from tagsight_bench.baselines.region_truth import label_regions, overlap_regions
from tagsight_bench.evaluation.method import MethodPrediction, Tags, put_background_at_zero

PENALTIES = (1e-3, 2e-4)
FOLDS = 2  # of the choice between them: a fit is the dear part
CUTS = 99  # thresholds tried


class ClassActivation:
    """Tag classifiers with log-sum-exp pooling (see `evaluation.method.Method`).

    `masks` (H, W) are of the photos it will be fitted to, in their order, None where there is none.
    """

    def __init__(self, masks: Sequence[Array | None] = ()):
        self._masks = masks

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Learn a classifier a tag."""
        truth = np.hstack(tags)
        self._n_objects = tags.objects.shape[1]
        self._space = learn_space(photos, seed=seed)
        bags = stack_bags(photos, self._space)
        d = bags.X.shape[1]
        left_out = {penalty: np.empty((len(bags.X), self._n_objects), np.float32) for penalty in PENALTIES}

        def score(train: Ints, test: Ints, penalty: float) -> Array:
            rest = bags.take(test)
            scores = fit_class_activation([bags.take(train)], d, truth[train], penalty).score(rest.X)
            left_out[penalty][bags.rows(test)] = scores[:, : self._n_objects]
            return pool_scores(scores, rest)

        choice = choose_setting(score, truth, PENALTIES, seed=seed, folds=FOLDS)
        self._scale = choice.scale
        self._threshold = self._choose_threshold(photos, bags, left_out[choice.setting])
        self._classifiers = fit_class_activation([bags], d, truth, choice.setting)
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Activations of the regions."""
        bags = stack_bags(photos, self._space)
        scores = self._classifiers.score(bags.X)
        pooled = self._scale.apply(pool_scores(scores, bags))[:, : self._n_objects]
        seen = []
        for photo, own in zip(pooled, np.split(scores, bags.first[1:-1]), strict=True):
            objects, attributes = np.split(self._scale.apply(own), [self._n_objects], axis=1)
            above = own[:, : self._n_objects] - self._threshold
            seen.append(MethodPrediction(photo, objects, attributes, put_background_at_zero(above)))
        return seen

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) each box as a photo of its own."""
        scores = self._classifiers.score(stack_bags([photo], self._space).X)[:, self._n_objects :]
        return self._scale.columns(self._n_objects).apply(pool_parts(scores, weigh_boxes(photo, boxes)))

    def _choose_threshold(self, photos: Sequence[PhotoFeatures], bags: Bags, scores: Array) -> float:
        """By the objects' scores (N, K_o) of regions in photos left out."""
        n_labels = self._n_objects + 1
        truth = np.full(len(scores), VOID)
        masks = self._masks or (None,) * len(photos)
        for photo, mask, first in zip(photos, masks, bags.first[:-1], strict=True):
            if mask is not None:
                truth[first : first + len(photo.features)] = label_regions(photo, mask, n_labels)
        known = truth != VOID
        return choose_cut(scores[known], truth[known], bags.share[known]) if known.any() else 0.0


def choose_cut(scores: Array, truth: Ints, area: Floats) -> float:
    """The threshold of objects' scores (n, K_o) with the best outlines, of regions labelled `truth` (n,)."""
    strongest, which = scores.max(axis=1), scores.argmax(axis=1) + 1

    def overlap(cut: float) -> float:
        return overlap_regions(truth, np.where(strongest > cut, which, 0), area, scores.shape[1] + 1)

    return float(max(np.quantile(strongest, np.linspace(0.0, 1.0, CUTS)), key=overlap))
