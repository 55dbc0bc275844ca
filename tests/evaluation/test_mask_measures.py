"""Segmentation measures by hand and against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, jaccard_score

from tagsight.demo.mask_measures import VOID, compute_iou, count_confusion
from tagsight_bench.evaluation.mask_measures import class_accuracy, mean_iou, mean_object_iou, pixel_accuracy


def test_confusion_and_iou_by_hand() -> None:
    truth = np.array([[0, 0, 1], [1, 1, VOID]])
    found = np.array([[0, 1, 1], [1, 0, 1]])
    confusion = count_confusion(truth, found, 3)
    assert confusion.tolist() == [[1, 1, 0], [1, 2, 0], [0, 0, 0]]
    assert compute_iou(confusion) == pytest.approx([1 / 3, 2 / 4, np.nan], nan_ok=True)


def test_iou_matches_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth, found = rng.integers(0, 5, (2, 40, 30))
    iou = compute_iou(count_confusion(truth, found, 5))
    assert iou == pytest.approx(jaccard_score(truth.ravel(), found.ravel(), average=None))


def test_accuracies_by_hand() -> None:
    confusion = np.array([[6, 2, 0], [1, 1, 0], [0, 0, 0]])
    assert pixel_accuracy(confusion) == pytest.approx(7 / 10)
    assert class_accuracy(confusion) == pytest.approx((6 / 8 + 1 / 2) / 2)  # the third class is not in the truth
    assert mean_iou(confusion) == pytest.approx((6 / 9 + 1 / 4) / 2)
    assert mean_object_iou(confusion) == pytest.approx(1 / 4)


def test_a_class_without_true_pixels_counts_in_iou_but_not_in_accuracy() -> None:
    confusion = np.array([[3, 1], [0, 0]])
    assert mean_iou(confusion) == pytest.approx((3 / 4 + 0) / 2)
    assert class_accuracy(confusion) == pytest.approx(3 / 4)


def test_measures_are_nan_without_labelled_pixels() -> None:
    confusion = count_confusion(np.full((2, 2), VOID), np.zeros((2, 2), int), 2)
    assert np.isnan([pixel_accuracy(confusion), class_accuracy(confusion), mean_iou(confusion)]).all()


def test_accuracies_match_scikit_learn_with_void() -> None:
    rng = np.random.default_rng(1)
    truth, found = rng.integers(0, 4, (2, 40, 30))
    truth[rng.random(truth.shape) < 0.2] = VOID
    known = truth != VOID
    confusion = count_confusion(truth, found, 4)
    assert pixel_accuracy(confusion) == pytest.approx(accuracy_score(truth[known], found[known]))
    assert class_accuracy(confusion) == pytest.approx(balanced_accuracy_score(truth[known], found[known]))
    assert mean_iou(confusion) == pytest.approx(jaccard_score(truth[known], found[known], average="macro"))
