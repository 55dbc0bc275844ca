"""Segmentation labels against masks, by hand."""

import numpy as np
import pytest

from tagsight.demo.mask_measures import VOID
from tagsight_bench.evaluation.mask_measures import mean_iou, pixel_accuracy
from tagsight_bench.evaluation.segmentation import (
    count_label_confusion,
    label_without_background,
    paint_labels,
    restrict_objects,
)

from .cases import make_photo, make_prediction

PHOTO = make_photo(size=(8, 4), rows=1, columns=2)  # two regions: left and right half


def test_labels_are_painted_at_full_size() -> None:
    painted = paint_labels(PHOTO, np.array([3, 0]))
    assert painted.shape == (4, 8)
    assert (painted[:, :4] == 3).all()
    assert (painted[:, 4:] == 0).all()


def test_confusion_with_void_and_missing_masks() -> None:
    mask = np.zeros((4, 8), np.uint8)
    mask[:, :6] = 1
    mask[0] = VOID
    confusion = count_label_confusion([PHOTO] * 3, [np.array([1, 0])] * 3, [mask, np.full_like(mask, VOID), None], 2)
    assert confusion.tolist() == [[6, 0], [6, 12]]
    assert mean_iou(confusion) == pytest.approx((6 / 12 + 12 / 18) / 2)
    assert pixel_accuracy(confusion) == pytest.approx(18 / 24)


def test_labels_without_background_take_the_best_object() -> None:
    prediction = make_prediction(
        [[-2.0, -3.0], [5.0, 1.0]], [[], []], classes=np.array([[0.9, 0.1, 0.2], [0.1, 0.2, 0.3]])
    )
    assert prediction.labels.tolist() == [0, 2]
    assert label_without_background(prediction).tolist() == [2, 2]  # by class scores, not by log-odds


def test_restricting_objects_excludes_the_others() -> None:
    prediction = make_prediction([[4.0, 1.0, 0.5], [3.0, -1.0, -2.0], [0.0, 0.0, 2.0]], [[]] * 3)
    assert prediction.labels.tolist() == [1, 1, 3]
    restricted = restrict_objects(prediction, np.array([0, 1, 1]))
    assert restricted.labels.tolist() == [2, 0, 3]
    assert np.isneginf(restricted.objects[:, 0]).all()
    assert np.isneginf(restricted.photo[0])
    assert (restricted.objects[:, 1:] == prediction.objects[:, 1:]).all()
    assert np.isneginf(restricted.log_joint[:, 0]).all()
    assert (restricted.log_joint[:, 1:] == prediction.log_joint[:, 1:]).all()
    assert label_without_background(restricted).tolist() == [2, 2, 3]
    high_background = prediction._replace(classes=prediction.classes + np.array([9, 0, 0, 0]))
    assert restrict_objects(high_background, np.ones(3)).labels.tolist() == [0, 0, 0]
