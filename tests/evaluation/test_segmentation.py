"""Segmentation: painted by hand."""

import numpy as np
import pytest

from tagsight.demo.mask_measures import VOID, mean_iou, pixel_accuracy
from tagsight_bench.evaluation.segmentation import (
    confuse_labels,
    keep_tagged,
    leave_no_background,
    paint_labels,
)

from .cases import make_photo, see

PHOTO = make_photo(size=(8, 4), rows=1, columns=2)  # two regions: left and right half


def test_labels_are_painted_at_the_size_of_the_photo() -> None:
    painted = paint_labels(PHOTO, np.array([3, 0]))
    assert painted.shape == (4, 8)
    assert (painted[:, :4] == 3).all()
    assert (painted[:, 4:] == 0).all()


def test_outline_against_mask_with_void() -> None:
    mask = np.zeros((4, 8), np.uint8)
    mask[:, :6] = 1
    mask[0] = VOID
    confusion = confuse_labels([PHOTO] * 3, [np.array([1, 0])] * 3, [mask, np.full_like(mask, VOID), None], 2)
    assert confusion.tolist() == [[6, 0], [6, 12]]
    assert mean_iou(confusion) == pytest.approx((6 / 12 + 12 / 18) / 2)
    assert pixel_accuracy(confusion) == pytest.approx(18 / 24)


def test_without_background() -> None:
    seen = see([[-2.0, -3.0], [5.0, 1.0]], [[], []], classes=np.array([[0.9, 0.1, 0.2], [0.1, 0.2, 0.3]]))
    assert seen.outline.tolist() == [0, 2]
    assert leave_no_background(seen).tolist() == [2, 2]  # by what the outline compares, and not by the odds


def test_only_allowed_objects_are_left() -> None:
    seen = see([[4.0, 1.0, 0.5], [3.0, -1.0, -2.0], [0.0, 0.0, 2.0]], [[]] * 3)
    assert seen.outline.tolist() == [1, 1, 3]
    left = keep_tagged(seen, np.array([0, 1, 1]))
    assert left.outline.tolist() == [2, 0, 3]
    assert np.isneginf(left.objects[:, 0]).all()
    assert np.isneginf(left.photo[0])
    assert (left.objects[:, 1:] == seen.objects[:, 1:]).all()
    assert np.isneginf(left.found[:, 0]).all()
    assert (left.found[:, 1:] == seen.found[:, 1:]).all()
    assert leave_no_background(left).tolist() == [2, 2, 3]
    assert keep_tagged(seen._replace(classes=seen.classes + np.array([9, 0, 0, 0])), np.ones(3)).outline.tolist() == [
        0,
        0,
        0,
    ]
