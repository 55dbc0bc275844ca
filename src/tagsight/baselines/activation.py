"""Class activation: a tag classifier on photos, read off at regions. What one would pick today.

Zhou et al., "Learning deep features for discriminative localization", CVPR 2016, with the pooling of Pinheiro and
Collobert, "From image-level to pixel-level labeling with convolutional networks", CVPR 2015: averaging alone asks
all of a photo to look like its tag, which on these regions costs a quarter of the overlap.

Region j of photo i has s_jk = x_j . w_k + b_k. With a_j its share of the area,

    S_ik = log sum_j a_j exp(s_jk):        the odds of a photo are the mean of the odds of its regions.

Minimised over w and b, for each tag apart, is the logistic loss of S over photos, those with the tag and those without
weighing alike, plus (penalty / 2) |w|^2. The penalty is chosen by cross-validation over photos.

The outline needs a threshold, and no mask may choose it. 0 is where the classifier itself is undecided, and a photo all
of whose regions score 0 scores 0 too: a region is painted with its strongest object if that is above 0. Reported
log-odds are Platt's (`choice`), which know how rare a tag is; the outline's are not, lest rare objects vanish.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from tagsight.baselines.choice import choose_setting
from tagsight.baselines.linear import Linear
from tagsight.baselines.pooled import Bags, learn_space, stack_bags, weigh_boxes
from tagsight.evaluation.method import Seen, Tags
from tagsight.features.described import DescribedPhoto
from tagsight.types import Array, Floats, Ints

PENALTIES = (1e-3, 2e-4)
FOLDS = 2  # of the choice between them: a fit is the dear part
STEPS = 60
TOGETHER = 20  # tags minimised at once: as many as make good use of a product, as few as share steps well


class ClassActivation:
    """Tag classifiers with log-sum-exp pooling (see `evaluation.method.Method`)."""

    def fit(self, photos: Sequence[DescribedPhoto], tags: Tags, *, seed: int = 0) -> Self:
        """Learn a classifier a tag."""
        truth = np.hstack(tags)
        self._n_objects = tags.objects.shape[1]
        self._space = learn_space(photos, seed=seed)
        bags = stack_bags(photos, self._space)

        def score(train: Ints, test: Ints, penalty: float) -> Array:
            rest = bags.pick(test)
            return pool_scores(train_pooled(bags.pick(train), truth[train], penalty).score(rest.X), rest)

        choice = choose_setting(score, truth, PENALTIES, seed=seed, folds=FOLDS)
        self._scale = choice.scale
        self._classifiers = train_pooled(bags, truth, choice.setting)
        return self

    def look(self, photos: Sequence[DescribedPhoto]) -> list[Seen]:
        """Activations of the regions."""
        bags = stack_bags(photos, self._space)
        scores = self._classifiers.score(bags.X)
        pooled = self._scale.apply(pool_scores(scores, bags))[:, : self._n_objects]
        seen = []
        for photo, own in zip(pooled, np.split(scores, bags.first[1:-1]), strict=True):
            objects, attributes = np.split(self._scale.apply(own), [self._n_objects], axis=1)
            active = own[:, : self._n_objects]
            outline = np.where(active.max(axis=1) > 0, active.argmax(axis=1) + 1, 0)
            seen.append(Seen(photo, objects, attributes, outline))
        return seen

    def describe_boxes(self, photo: DescribedPhoto, boxes: Array) -> Floats:
        """(B, K_a) each box as a photo of its own."""
        scores = self._classifiers.score(stack_bags([photo], self._space).X)[:, self._n_objects :]
        highest = scores.max(axis=0)
        pooled = highest + np.log(weigh_boxes(photo, boxes) @ np.exp(scores - highest) + np.finfo(np.float64).tiny)
        return self._scale.columns(self._n_objects).apply(pooled)


def pool_scores(scores: Array, bags: Bags) -> Array:
    """(I, K) S of the photos from s (N, K) of their regions."""
    return _pool(scores, bags)[0]


def train_pooled(bags: Bags, truth: Array, penalty: float) -> Linear:
    """Minimise the loss, which is a sum over tags, for some tags at a time."""
    parts = [_minimise(bags, truth[:, k : k + TOGETHER], penalty) for k in range(0, truth.shape[1], TOGETHER)]
    return Linear(*(np.concatenate(pair, axis=-1) for pair in zip(*parts, strict=True)))


def pooled_loss(parameters: Floats, bags: Bags, truth: Array, penalty: float) -> tuple[float, Floats]:
    """The loss and its gradient at `parameters`, w (d, K) and then b (K,)."""
    photos, K = truth.shape
    d = bags.X.shape[1]
    positives = truth.sum(axis=0)
    weight = np.where(truth > 0, 0.5 / np.maximum(positives, 1), 0.5 / np.maximum(photos - positives, 1))
    w = parameters[: d * K].reshape(d, K).astype(bags.X.dtype)
    pooled, parts = _pool(bags.X @ w, bags)
    S = pooled + parameters[d * K :]
    slack = weight * (expit(S) - truth)
    parts *= slack.astype(parts.dtype)[bags.groups]
    value = np.sum(weight * (np.logaddexp(0.0, S) - truth * S)) + 0.5 * penalty * np.sum(w.astype(np.float64) ** 2)
    return float(value), np.concatenate([(bags.X.T @ parts + penalty * w).ravel(), slack.sum(axis=0)])


def _minimise(bags: Bags, truth: Array, penalty: float) -> Linear:
    d, K = bags.X.shape[1], truth.shape[1]
    found = minimize(
        pooled_loss,
        np.zeros((d + 1) * K),
        args=(bags, truth, penalty),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": STEPS},
    )
    return Linear(found.x[: d * K].reshape(d, K).astype(np.float32), found.x[d * K :])


def _pool(scores: Array, bags: Bags) -> tuple[Array, Array]:
    """S (I, K), and each region's part a_j exp(s_jk - S_ik) in it (N, K), which is also its derivative."""
    starts, groups = bags.first[:-1], bags.groups
    highest = np.maximum.reduceat(scores, starts)
    parts = np.exp(scores - highest[groups])
    parts *= bags.share[:, None]
    total = np.add.reduceat(parts, starts)
    parts /= total[groups]
    return highest + np.log(total), parts
