"""The fully supervised region classifier: multinomial logistic regression on regions labelled from true masks.

A region's label is that of most of its pixels, void left out. The labels are background and the objects:

    P(label = c | x_j) = exp(x_j . w_c + b_c) / sum_l exp(x_j . w_l + b_l).

A region counts by its area, and by (share of its label in all area)^-BALANCE, lest rare objects vanish beside
background. The penalty is the one whose labels of regions left out have the highest mean IoU. Masks say nothing of
attributes, and the method has no opinion of them: their log-odds are 0, even.
"""

import warnings
from collections.abc import Sequence
from typing import Self

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from tagsight.classifiers.fit import compute_region_weights
from tagsight.classifiers.regression import Linear
from tagsight.demo.mask_measures import VOID
from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array, Floats, Ints
from tagsight_bench.baselines.choice import score_left_out
from tagsight_bench.baselines.pooled import learn_space, stack_bags
from tagsight_bench.baselines.region_truth import label_regions, overlap_regions
from tagsight_bench.evaluation.method import MethodPrediction, Tags

PENALTIES = (0.3, 1.0, 3.0, 10.0)  # C
BALANCE = 0.5  # 0: labels count by their area; 1: all alike
STEPS = 100


class MaskClassifier:
    """Learned from `masks` (H, W) of the photos it will be fitted to, in their order.

    0 is background, 1.. objects, VOID nothing. See `evaluation.method.Method`.
    """

    def __init__(self, masks: Sequence[Array]):
        self._masks = masks

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Learn a classifier of regions; its penalty is chosen by cross-validation over photos."""
        n_labels = tags.objects.shape[1] + 1
        self._n_attributes = tags.attributes.shape[1]
        self._space = learn_space(photos, seed=seed)
        bags = stack_bags(photos, self._space)
        label = np.concatenate([label_regions(*pair, n_labels) for pair in zip(photos, self._masks, strict=True)])
        known = np.flatnonzero(label != VOID)
        X, label, area, photo = bags.X[known], label[known], bags.share[known], bags.groups[known]
        weight = compute_region_weights(label, area, BALANCE)
        weight /= weight.mean()

        def train(rows: Ints, penalty: float) -> Linear:
            return train_softmax(X[rows], label[rows], weight[rows], n_labels, penalty)

        def overlap(penalty: float) -> float:
            truth = label[:, None] == np.arange(n_labels)
            scores = score_left_out(
                lambda rows, rest: train(rows, penalty).score(X[rest]), truth, seed=seed, photos=photo
            )
            return overlap_regions(label, scores.argmax(axis=1), area, n_labels)

        self._classifier = train(np.arange(len(X)), max(PENALTIES, key=overlap))
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Log-odds of the objects against all other labels, background among them."""
        seen = []
        for photo in photos:
            scores = self._classifier.score(stack_bags([photo], self._space).X)
            odds = to_log_odds(scores)[:, 1:]
            silent = np.zeros((len(scores), self._n_attributes))
            seen.append(MethodPrediction(odds.max(axis=0), odds, silent, scores))
        return seen

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) zeros: masks teach no attribute."""
        return np.zeros((len(boxes), self._n_attributes))


def train_softmax(X: Array, label: Ints, weight: Floats, n_labels: int, penalty: float) -> Linear:
    """Multinomial logistic regression; a label that never occurs is as improbable as numbers allow."""
    machine = LogisticRegression(C=penalty, max_iter=STEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # cross-validation judges what it reached
        machine.fit(X, label, sample_weight=weight)
    weights, offset = np.zeros((X.shape[1], n_labels)), np.full(n_labels, -100.0)
    two = len(machine.classes_) == 2  # scikit-learn keeps the second one's scores only
    weights[:, machine.classes_] = np.vstack([-machine.coef_, machine.coef_]).T / 2 if two else machine.coef_.T
    offset[machine.classes_] = (
        np.concatenate([-machine.intercept_, machine.intercept_]) / 2 if two else machine.intercept_
    )
    return Linear(weights, offset)


def to_log_odds(scores: Array) -> Floats:
    """(n, L) log P / (1 - P) of softmax scores (n, L): s_c - log sum_{l != c} exp(s_l)."""
    others = np.stack([logsumexp(np.delete(scores, c, axis=1), axis=1) for c in range(scores.shape[1])], axis=1)
    return scores - others
