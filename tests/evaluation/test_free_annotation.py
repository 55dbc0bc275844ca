"""Free annotation: by hand, and against a loop over pixels."""

import numpy as np
import pytest

from tagsight_bench.evaluation.free_annotation import score_free_annotation
from tagsight_bench.evaluation.method import MethodPrediction
from tagsight_bench.evaluation.truth import measure_overlap, pick_overlapping

from .cases import draw_world, make_photo, see, there

LEFT, RIGHT, WHOLE = (0, 0, 20, 20), (20, 0, 40, 20), (0, 0, 40, 20)


def answer(strongest: int, attributes: list[float]) -> MethodPrediction:
    """Object 1 is surest, clearest in one of the eight regions, which alone has these attributes."""
    objects, words = np.full((8, 2), -5.0), np.zeros((8, 3))
    objects[strongest, 1] = 2.0
    words[strongest] = attributes
    return see(objects.tolist(), words.tolist())


def test_the_attributes_of_the_region_are_judged_by_the_instance_there() -> None:
    truth = there((1, LEFT, [1, 0, 0]), (1, RIGHT, [0, 1, 1]))
    photo = make_photo()
    on_the_left, on_the_right = answer(0, [3, 2, 1]), answer(3, [3, 2, 1])
    assert score_free_annotation([photo], [on_the_left], [truth], (1, 2)).precision == {1: 1.0, 2: 0.5}
    assert score_free_annotation([photo], [on_the_right], [truth], (1, 2)).precision == {1: 0.0, 2: 0.5}


def test_a_wrong_object_scores_nothing_though_the_attributes_are_right() -> None:
    photo = make_photo()
    wrong = there((0, LEFT, [1, 1, 1]))
    right = there((1, LEFT, [1, 1, 1]))
    scores = score_free_annotation([photo] * 4, [answer(0, [3, 2, 1])] * 4, [wrong, wrong, wrong, right], (2,))
    assert scores.precision == {2: 0.25}
    assert scores.object_right == 0.25


def test_the_photo_scores_choose_the_object_and_the_region_scores_the_place() -> None:
    photo = make_photo()
    seen = see([[9.0, 0.0]] + [[0.0, 0.0]] * 6 + [[0.0, 1.0]], [[0, 1]] + [[1, 0]] * 7, photo=np.array([0.0, 5.0]))
    truth = there((1, RIGHT, [1, 0]))
    assert score_free_annotation([photo], [seen], [truth], (1,)).precision == {1: 1.0}


def test_of_boxes_that_hold_the_region_the_smaller_counts() -> None:
    photo = make_photo()
    assert pick_overlapping(photo, 0, np.array([WHOLE, LEFT])) == 1
    assert pick_overlapping(photo, 3, np.array([LEFT, WHOLE])) == 1
    assert pick_overlapping(photo, 0, np.array([LEFT, LEFT])) == 0


def test_overlap_is_in_the_whole_photo() -> None:
    photo = make_photo()  # region 0 has pixels with centres 1, 3, 5, 7, 9 in the whole photo, both ways
    boxes = np.array([(0, 0, 10, 10), (0, 0, 4, 10), (5, 5, 40, 20), (10, 0, 40, 20)])
    assert measure_overlap(photo, 0, boxes) == pytest.approx([1, 2 / 5, (3 / 5) ** 2, 0])
    wide = photo._replace(size=(400, 20))
    assert measure_overlap(wide, 0, np.array([(0, 0, 40, 10), (0, 0, 100, 4)])) == pytest.approx([2 / 5, 2 / 5])


def test_against_a_loop_over_pixels() -> None:
    photos, seen, truth = draw_world(0, n_photos=60)
    scores = []
    for photo, prediction, real in zip(photos, seen, truth, strict=True):
        named = max(range(4), key=lambda o: prediction.photo[o])
        region = max(range(8), key=lambda j: prediction.objects[j, named])
        best = None
        for o, (x0, y0, x1, y1), attributes in zip(real.objects, real.boxes, real.attributes, strict=True):
            inside = sum(
                photo.labels[y, x] == region and x0 <= 2 * x + 1 < x1 and y0 <= 2 * y + 1 < y1
                for y in range(10)
                for x in range(20)
            )
            rank = (inside, -(x1 - x0) * (y1 - y0))
            if o == named and (best is None or rank > best[0]):
                best = (rank, attributes)
        first = sorted(range(6), key=lambda a: -prediction.attributes[region, a])[:2]
        scores.append(0.0 if best is None else sum(best[1][a] for a in first) / 2)
    assert 0 < np.mean(scores) < 1
    assert score_free_annotation(photos, seen, truth, (2,)).precision[2] == pytest.approx(np.mean(scores))
