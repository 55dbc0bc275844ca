"""The default and the paper's model as methods, on a planted collection."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from tagsight.classifiers.score import ClassifierWeights
from tagsight.data.vocabulary import Tags
from tagsight.model.fields import correlate_tags
from tagsight.model.settings import PRESETS
from tagsight.predict.predictor import predict_photos
from tagsight_bench.evaluation.method import GuidedMethod, TransductiveMethod
from tagsight_bench.methods import ABLATIONS
from tagsight_bench.tagsight_method import StackedIBPMethod
from tests.baselines.planted import Scores, World, draw_world, score_location, score_method


@pytest.fixture(scope="module")
def worlds() -> tuple[World, World]:
    return draw_world(120, seed=0), draw_world(60, seed=1)


@pytest.fixture(scope="module")
def full(worlds: tuple[World, World]) -> StackedIBPMethod:
    train, _ = worlds
    return StackedIBPMethod(n_free=4).fit(train.photos, train.tags, seed=0)


@pytest.fixture(scope="module")
def preset(worlds: tuple[World, World]) -> StackedIBPMethod:
    train, _ = worlds
    return StackedIBPMethod(**PRESETS["additive"], classifiers=False, n_free=4).fit(train.photos, train.tags, seed=0)


@pytest.fixture(params=["full", "preset"])
def method(request: pytest.FixtureRequest) -> StackedIBPMethod:
    return request.getfixturevalue(request.param)


def test_objects_are_outlined_and_attributes_bound(full: StackedIBPMethod, worlds: tuple[World, World]) -> None:
    scores = score_method(full, worlds[1])
    least = Scores(segmentation=0.9, location=0.98, binding=0.85, photo=0.98, boxes=0.85)
    assert all(got >= wanted for got, wanted in zip(scores, least, strict=True)), scores


def test_joint_scores_equal_those_of_the_index(method: StackedIBPMethod, worlds: tuple[World, World]) -> None:
    photos = worlds[1].photos[:5]
    predictions = method.predict(photos)
    assert len(predictions) == 5
    for prediction, posterior in zip(predictions, predict_photos(method._predictor, photos), strict=True):
        assert_allclose(np.exp(prediction.log_joint), posterior.presence_by_region, rtol=1e-6, atol=1e-12)


def test_the_papers_model_predicts_by_its_posterior(preset: StackedIBPMethod, worlds: tuple[World, World]) -> None:
    scores = score_method(preset, worlds[1])
    assert scores.location >= 0.9, scores
    assert scores.photo >= 0.9, scores


def test_blas_threads_do_not_change_predictions(full: StackedIBPMethod, worlds: tuple[World, World]) -> None:
    train, test = worlds
    with threadpool_limits(2, user_api="blas"):
        again = StackedIBPMethod(n_free=4).fit(train.photos, train.tags, seed=0)
    one, two = (
        np.concatenate([prediction.objects for prediction in method.predict(test.photos)]) for method in (full, again)
    )
    assert_array_equal(one, two)


def test_objects_that_are_not_allowed_are_not_predicted(method: StackedIBPMethod, worlds: tuple[World, World]) -> None:
    _, test = worlds
    assert isinstance(method, GuidedMethod)
    for prediction, objects in zip(method.predict_within(test.photos, test.tags), test.tags.objects, strict=True):
        assert set(prediction.labels) <= {0, *(np.flatnonzero(objects) + 1)}
        assert prediction.objects[:, objects == 0].max() < -20


def test_transductive_prediction_does_not_change_the_method(
    method: StackedIBPMethod, worlds: tuple[World, World]
) -> None:
    _, test = worlds
    assert isinstance(method, TransductiveMethod)
    before = method.predict(test.photos)
    together = method.predict_transductive(test.photos)
    assert score_location(together, test) >= 0.9
    assert any((one.objects != two.objects).any() for one, two in zip(before, together, strict=True))
    for one, two in zip(before, method.predict(test.photos), strict=True):
        assert_array_equal(one.objects, two.objects)


@pytest.mark.slow
def test_every_ablation_changes_its_parameter(full: StackedIBPMethod, worlds: tuple[World, World]) -> None:
    train, _ = worlds
    few = slice(0, 40)
    tags = Tags(train.tags.objects[few], train.tags.attributes[few])
    for entry in ABLATIONS.values():
        fitted = StackedIBPMethod(**{**entry.parameters, "n_free": 2}).fit(train.photos[few], tags)._predictor
        for name, value in entry.parameters.get("weights", {}).items():
            assert fitted.parts.classifiers is not None
            assert getattr(fitted.parts.classifiers.weights, name) == value != getattr(ClassifierWeights(), name)
        frozen = np.array_equal(fitted.parts.learned.state.affinity, correlate_tags(np.hstack(tags), 2))
        assert frozen == (not entry.parameters.get("learn_affinity", True))
