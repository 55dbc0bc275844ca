"""Given name and given location: by hand, and against scikit-learn over loops."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from tagsight_bench.evaluation.given_location import score_given_location
from tagsight_bench.evaluation.given_name import describe_named, score_given_name

from .cases import Clairvoyant, draw_world, make_photo, see, there

BOX = (0, 0, 10, 10)


def test_a_named_object_is_described_where_it_is_strongest_by_the_union_of_its_instances() -> None:
    seen = see([[1.0, 0.0], [0.0, 2.0]], [[5, 6], [7, 8]])
    truth = there((1, BOX, [1, 0]), (0, BOX, [0, 0]), (1, BOX, [0, 1]))
    items = describe_named([seen], [truth])
    assert items.score.tolist() == [[5, 6], [7, 8]]
    assert items.truth.tolist() == [[0, 0], [1, 1]]


def test_given_name_against_loops() -> None:
    _, seen, truth = draw_world(1)
    per_attribute = []
    for a in range(6):
        score, real = [], []
        for prediction, instances in zip(seen, truth, strict=True):
            for o in sorted(set(instances.objects.tolist())):
                region = max(range(8), key=lambda j, o=o, prediction=prediction: prediction.objects[j, o])
                score.append(prediction.attributes[region, a])
                mine = [w[a] for c, w in zip(instances.objects, instances.attributes, strict=True) if c == o]
                real.append(max(mine))
        per_attribute.append(average_precision_score(real, score))
    assert score_given_name(seen, truth) == pytest.approx(np.mean(per_attribute))


def test_given_location_is_over_all_boxes() -> None:
    photos, _, truth = draw_world(2)
    rng = np.random.default_rng(0)
    answers = {id(photo): rng.normal(size=real.attributes.shape) for photo, real in zip(photos, truth, strict=True)}
    found = score_given_location(Clairvoyant(answers), photos, truth)
    score = np.concatenate([answers[id(photo)] for photo in photos])
    real = np.concatenate([instances.attributes for instances in truth])
    assert found.mean_ap == pytest.approx(average_precision_score(real, score, average="macro"))
    assert found.mean_auc == pytest.approx(roc_auc_score(real, score, average="macro"))


def test_an_attribute_no_box_has_does_not_count() -> None:
    photo = make_photo()
    truth = there((0, BOX, [1, 0]), (0, BOX, [0, 0]))
    method = Clairvoyant({id(photo): np.array([[2.0, 1.0], [1.0, 2.0]])})
    assert score_given_location(method, [photo], [truth]) == (1.0, 1.0)
