"""The fully supervised region classifier: multinomial logistic regression on regions labelled from true masks.

A region's label is the most frequent label of its pixels, without void. Labels are background and the objects:

    P(label = c | x_j) = exp(x_j . w_c + b_c) / sum_l exp(x_j . w_l + b_l).

A region's weight is its area times (share of its label in all area)^-BALANCE, so that background does not dominate rare
objects. The penalty is the one with the highest mean IoU of regions in held-out folds. Masks have no attributes, so the
log-odds of attributes are 0.
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
from tagsight_bench.baselines.model_selection import cross_val_scores
from tagsight_bench.baselines.region_vectors import compute_region_miou, fit_projection, label_regions, stack_bags
from tagsight_bench.evaluation.method import MethodPrediction, Tags

PENALTIES = (0.3, 1.0, 3.0, 10.0)  # C
BALANCE = 0.5  # 0 weighs labels by area, 1 weighs all labels equally
MAX_ITER = 100


class MaskClassifier:
    """Region classifier fitted to `masks` (H, W) of the photos given to `fit`, in their order.

    Mask values are 0 for background, 1.. for objects, and VOID for unlabelled pixels. See `evaluation.method.Method`.
    """

    def __init__(self, masks: Sequence[Array]):
        self._masks = masks

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Fit the classifier; its penalty is selected by cross-validation over photos."""
        n_labels = tags.objects.shape[1] + 1
        self._n_attributes = tags.attributes.shape[1]
        self._projection = fit_projection(photos, seed=seed)
        bags = stack_bags(photos, self._projection)
        label = np.concatenate([label_regions(*pair, n_labels) for pair in zip(photos, self._masks, strict=True)])
        known = np.flatnonzero(label != VOID)
        X, label, area, photo = bags.X[known], label[known], bags.share[known], bags.groups[known]
        weight = compute_region_weights(label, area, BALANCE)
        weight /= weight.mean()

        def train(rows: Ints, penalty: float) -> Linear:
            return fit_softmax_classifier(X[rows], label[rows], weight[rows], n_labels, penalty)

        def compute_miou(penalty: float) -> float:
            truth = label[:, None] == np.arange(n_labels)
            scores = cross_val_scores(
                lambda rows, test: train(rows, penalty).score(X[test]), truth, seed=seed, photos=photo
            )
            return compute_region_miou(label, scores.argmax(axis=1), area, n_labels)

        self._classifier = train(np.arange(len(X)), max(PENALTIES, key=compute_miou))
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Log-odds of each object against all other labels, background included."""
        predictions = []
        for photo in photos:
            scores = self._classifier.score(stack_bags([photo], self._projection).X)
            odds = to_log_odds(scores)[:, 1:]
            no_attributes = np.zeros((len(scores), self._n_attributes))
            predictions.append(MethodPrediction(odds.max(axis=0), odds, no_attributes, scores))
        return predictions

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) zeros: the method has no attributes."""
        return np.zeros((len(boxes), self._n_attributes))


def fit_softmax_classifier(X: Array, label: Ints, weight: Floats, n_labels: int, penalty: float) -> Linear:
    """Multinomial logistic regression; a label that never occurs gets an offset of -100."""
    classifier = LogisticRegression(C=penalty, max_iter=MAX_ITER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # cross-validation evaluates the result as it is
        classifier.fit(X, label, sample_weight=weight)
    weights, offset = np.zeros((X.shape[1], n_labels)), np.full(n_labels, -100.0)
    binary = len(classifier.classes_) == 2  # scikit-learn then stores the scores of the second class only
    weights[:, classifier.classes_] = (
        np.vstack([-classifier.coef_, classifier.coef_]).T / 2 if binary else classifier.coef_.T
    )
    offset[classifier.classes_] = (
        np.concatenate([-classifier.intercept_, classifier.intercept_]) / 2 if binary else classifier.intercept_
    )
    return Linear(weights, offset)


def to_log_odds(scores: Array) -> Floats:
    """(n, L) log P / (1 - P) of softmax scores (n, L): s_c - log sum_{l != c} exp(s_l)."""
    others = np.stack([logsumexp(np.delete(scores, c, axis=1), axis=1) for c in range(scores.shape[1])], axis=1)
    return scores - others
