"""Annotation protocols: by hand, against loops over pixels, and against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from tagsight_bench.evaluation.annotation import (
    FEWEST_BOXES,
    list_given_name,
    precision_at,
    score_free_annotation,
    score_given_location,
    score_given_name,
    score_within_classes,
)
from tagsight_bench.evaluation.method import MethodPrediction
from tagsight_bench.evaluation.truth import measure_overlap, pick_overlapping

from .cases import FixedMethod, draw_world, make_instances, make_photo, make_prediction

LEFT, RIGHT, WHOLE = (0, 0, 20, 20), (20, 0, 40, 20), (0, 0, 40, 20)


def predict_object_1(best_region: int, attributes: list[float]) -> MethodPrediction:
    """Object 1 is most probable, and one of the eight regions is its best, with these attributes."""
    objects, attribute_scores = np.full((8, 2), -5.0), np.zeros((8, 3))
    objects[best_region, 1] = 2.0
    attribute_scores[best_region] = attributes
    return make_prediction(objects.tolist(), attribute_scores.tolist())


def test_attributes_are_compared_with_the_instance_at_the_best_region() -> None:
    truth = make_instances((1, LEFT, [1, 0, 0]), (1, RIGHT, [0, 1, 1]))
    photo = make_photo()
    on_the_left, on_the_right = predict_object_1(0, [3, 2, 1]), predict_object_1(3, [3, 2, 1])
    assert score_free_annotation([photo], [on_the_left], [truth], (1, 2)).precision == {1: 1.0, 2: 0.5}
    assert score_free_annotation([photo], [on_the_right], [truth], (1, 2)).precision == {1: 0.0, 2: 0.5}


def test_a_wrong_object_scores_zero_with_right_attributes() -> None:
    photo = make_photo()
    wrong = make_instances((0, LEFT, [1, 1, 1]))
    right = make_instances((1, LEFT, [1, 1, 1]))
    scores = score_free_annotation(
        [photo] * 4, [predict_object_1(0, [3, 2, 1])] * 4, [wrong, wrong, wrong, right], (2,)
    )
    assert scores.precision == {2: 0.25}
    assert scores.object_right == 0.25


def test_photo_scores_select_the_object_and_region_scores_its_location() -> None:
    photo = make_photo()
    predictions = make_prediction(
        [[9.0, 0.0]] + [[0.0, 0.0]] * 6 + [[0.0, 1.0]], [[0, 1]] + [[1, 0]] * 7, photo=np.array([0.0, 5.0])
    )
    truth = make_instances((1, RIGHT, [1, 0]))
    assert score_free_annotation([photo], [predictions], [truth], (1,)).precision == {1: 1.0}


def test_among_boxes_that_cover_the_region_the_smaller_is_picked() -> None:
    photo = make_photo()
    assert pick_overlapping(photo, 0, np.array([WHOLE, LEFT])) == 1
    assert pick_overlapping(photo, 3, np.array([LEFT, WHOLE])) == 1
    assert pick_overlapping(photo, 0, np.array([LEFT, LEFT])) == 0


def test_overlap_is_measured_in_full_size_pixels() -> None:
    photo = make_photo()  # region 0 has pixel centres 1, 3, 5, 7, 9 in both directions
    boxes = np.array([(0, 0, 10, 10), (0, 0, 4, 10), (5, 5, 40, 20), (10, 0, 40, 20)])
    assert measure_overlap(photo, 0, boxes) == pytest.approx([1, 2 / 5, (3 / 5) ** 2, 0])
    wide = photo._replace(size=(400, 20))
    assert measure_overlap(wide, 0, np.array([(0, 0, 40, 10), (0, 0, 100, 4)])) == pytest.approx([2 / 5, 2 / 5])


def test_free_annotation_matches_a_loop_over_pixels() -> None:
    photos, predictions, truth = draw_world(0, n_photos=60)
    scores = []
    for photo, prediction, instances in zip(photos, predictions, truth, strict=True):
        named = max(range(4), key=lambda o: prediction.photo[o])
        region = max(range(8), key=lambda j: prediction.objects[j, named])
        best = None
        for o, (x0, y0, x1, y1), attributes in zip(
            instances.objects, instances.boxes, instances.attributes, strict=True
        ):
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
    assert score_free_annotation(photos, predictions, truth, (2,)).precision[2] == pytest.approx(np.mean(scores))


BOX = (0, 0, 10, 10)


def test_given_name_uses_the_best_region_and_the_union_of_instances() -> None:
    predictions = make_prediction([[1.0, 0.0], [0.0, 2.0]], [[5, 6], [7, 8]])
    truth = make_instances((1, BOX, [1, 0]), (0, BOX, [0, 0]), (1, BOX, [0, 1]))
    items = list_given_name([predictions], [truth])
    assert items.score.tolist() == [[5, 6], [7, 8]]
    assert items.truth.tolist() == [[0, 0], [1, 1]]


def test_given_name_matches_loops_with_scikit_learn() -> None:
    _, predictions, truth = draw_world(1)
    per_attribute = []
    for a in range(6):
        score, true = [], []
        for prediction, instances in zip(predictions, truth, strict=True):
            for o in sorted(set(instances.objects.tolist())):
                region = max(range(8), key=lambda j, o=o, prediction=prediction: prediction.objects[j, o])
                score.append(prediction.attributes[region, a])
                own = [w[a] for c, w in zip(instances.objects, instances.attributes, strict=True) if c == o]
                true.append(max(own))
        per_attribute.append(average_precision_score(true, score))
    assert score_given_name(predictions, truth) == pytest.approx(np.mean(per_attribute))


def test_given_location_ranks_all_boxes() -> None:
    photos, _, truth = draw_world(2)
    rng = np.random.default_rng(0)
    answers = {
        id(photo): rng.normal(size=instances.attributes.shape) for photo, instances in zip(photos, truth, strict=True)
    }
    found = score_given_location(FixedMethod(answers), photos, truth)
    score = np.concatenate([answers[id(photo)] for photo in photos])
    instances = np.concatenate([instances.attributes for instances in truth])
    assert found.mean_ap == pytest.approx(average_precision_score(instances, score, average="macro"))
    assert found.mean_auc == pytest.approx(roc_auc_score(instances, score, average="macro"))


def test_given_location_skips_attributes_that_no_box_has() -> None:
    photo = make_photo()
    truth = make_instances((0, BOX, [1, 0]), (0, BOX, [0, 0]))
    method = FixedMethod({id(photo): np.array([[2.0, 1.0], [1.0, 2.0]])})
    found = score_given_location(method, [photo], [truth])
    assert found[:2] == (1.0, 1.0)
    assert np.isnan(found.within_class_auc)


def test_within_classes_matches_loops_with_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    objects, score = rng.integers(0, 3, 90), rng.normal(size=(90, 4))
    attributes = (rng.random((90, 4)) < [0.5, 0.5, 0.05, 0.4]).astype(np.uint8)
    areas = []
    for o in range(3):
        for a in range(4):
            truth = attributes[objects == o, a]
            if FEWEST_BOXES <= truth.sum() <= len(truth) - FEWEST_BOXES:
                areas.append(roc_auc_score(truth, score[objects == o, a]))
    assert 3 <= len(areas) < 12
    assert score_within_classes(score, attributes, objects) == pytest.approx(np.mean(areas))


def test_knowing_the_class_alone_scores_one_half_within_classes() -> None:
    objects = np.repeat([0, 1], 40)
    attributes = np.tile([[1, 0], [0, 1]], (40, 1))
    usual = np.array([[3.0, -1.0], [0.5, 2.0]])[objects]
    assert score_within_classes(usual, attributes, objects) == 0.5
    assert score_within_classes(usual + attributes, attributes, objects) == 1.0


def test_precision_at_t_by_hand() -> None:
    score, truth = np.array([0.1, 0.9, 0.5, 0.7]), np.array([1, 1, 0, 1])
    assert [precision_at(score, truth, t) for t in (1, 2, 3, 4)] == pytest.approx([1, 1, 2 / 3, 3 / 4])


def test_precision_at_t_divides_by_t() -> None:
    assert precision_at(np.array([2.0, 1.0]), np.array([1, 1]), 8) == pytest.approx(2 / 8)
    assert precision_at(np.array([2.0, 1.0]), np.array([0, 0]), 2) == 0


def test_precision_at_t_breaks_ties_by_the_earlier_column() -> None:
    assert precision_at(np.zeros(3), np.array([1, 0, 0]), 1) == 1
    assert precision_at(np.zeros(3), np.array([0, 0, 1]), 2) == 0
