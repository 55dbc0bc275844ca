"""IoU of hand-computed maps and against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import jaccard_score

from tagsight.evaluation.masks import VOID, count_confusion, intersection_over_union


def test_a_hand_computed_case() -> None:
    truth = np.array([[0, 0, 1], [1, 1, VOID]])
    found = np.array([[0, 1, 1], [1, 0, 1]])
    confusion = count_confusion(truth, found, 3)
    assert confusion.tolist() == [[1, 1, 0], [1, 2, 0], [0, 0, 0]]
    assert intersection_over_union(confusion) == pytest.approx([1 / 3, 2 / 4, np.nan], nan_ok=True)


def test_against_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth, found = rng.integers(0, 5, (2, 40, 30))
    iou = intersection_over_union(count_confusion(truth, found, 5))
    assert iou == pytest.approx(jaccard_score(truth.ravel(), found.ravel(), average=None))
