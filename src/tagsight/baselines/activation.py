"""Class activation: a tag classifier on photos, read off at regions. What one would pick today.

Zhou et al., "Learning deep features for discriminative localization", CVPR 2016, with photos as bags of regions
(`readout.activation`): averaging alone asks all of a photo to look like its tag, which on these regions costs a quarter
of the overlap. The penalty is chosen by cross-validation over photos.

The outline needs a threshold, and no mask may choose it. 0 is where the classifier itself is undecided, and a photo all
of whose regions score 0 scores 0 too: a region is painted with its strongest object if that is above 0. Reported
log-odds are Platt's (`choice`), which know how rare a tag is; the outline's are not, lest rare objects vanish.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np

from tagsight.baselines.choice import choose_setting
from tagsight.baselines.pooled import learn_space, stack_bags, weigh_boxes
from tagsight.evaluation.method import Seen, Tags, put_background_at_zero
from tagsight.features.described import DescribedPhoto
from tagsight.readout.activation import train_activation
from tagsight.readout.bags import pool_odds, pool_scores
from tagsight.types import Array, Floats, Ints

PENALTIES = (1e-3, 2e-4)
FOLDS = 2  # of the choice between them: a fit is the dear part


class ClassActivation:
    """Tag classifiers with log-sum-exp pooling (see `evaluation.method.Method`)."""

    def fit(self, photos: Sequence[DescribedPhoto], tags: Tags, *, seed: int = 0) -> Self:
        """Learn a classifier a tag."""
        truth = np.hstack(tags)
        self._n_objects = tags.objects.shape[1]
        self._space = learn_space(photos, seed=seed)
        bags = stack_bags(photos, self._space)
        d = bags.X.shape[1]

        def score(train: Ints, test: Ints, penalty: float) -> Array:
            rest = bags.pick(test)
            return pool_scores(train_activation([bags.pick(train)], d, truth[train], penalty).score(rest.X), rest)

        choice = choose_setting(score, truth, PENALTIES, seed=seed, folds=FOLDS)
        self._scale = choice.scale
        self._classifiers = train_activation([bags], d, truth, choice.setting)
        return self

    def look(self, photos: Sequence[DescribedPhoto]) -> list[Seen]:
        """Activations of the regions."""
        bags = stack_bags(photos, self._space)
        scores = self._classifiers.score(bags.X)
        pooled = self._scale.apply(pool_scores(scores, bags))[:, : self._n_objects]
        seen = []
        for photo, own in zip(pooled, np.split(scores, bags.first[1:-1]), strict=True):
            objects, attributes = np.split(self._scale.apply(own), [self._n_objects], axis=1)
            seen.append(Seen(photo, objects, attributes, put_background_at_zero(own[:, : self._n_objects])))
        return seen

    def describe_boxes(self, photo: DescribedPhoto, boxes: Array) -> Floats:
        """(B, K_a) each box as a photo of its own."""
        scores = self._classifiers.score(stack_bags([photo], self._space).X)[:, self._n_objects :]
        return self._scale.columns(self._n_objects).apply(pool_odds(scores, weigh_boxes(photo, boxes)))
