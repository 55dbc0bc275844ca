"""Our model, whole and pure, on a planted collection; the same answer whatever the threads."""

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
from tagsight_bench.ours import StackedIBPMethod
from tests.baselines.planted import Scores, World, draw_world, score_location, score_method


@pytest.fixture(scope="module")
def worlds() -> tuple[World, World]:
    return draw_world(120, seed=0), draw_world(60, seed=1)


@pytest.fixture(scope="module")
def whole(worlds: tuple[World, World]) -> StackedIBPMethod:
    learn, _ = worlds
    return StackedIBPMethod(n_free=4).fit(learn.photos, learn.tags, seed=0)


@pytest.fixture(scope="module")
def pure(worlds: tuple[World, World]) -> StackedIBPMethod:
    learn, _ = worlds
    return StackedIBPMethod(**PRESETS["ws-mrf-sibp"], classifiers=False, n_free=4).fit(learn.photos, learn.tags, seed=0)


@pytest.fixture(params=["whole", "pure"])
def method(request: pytest.FixtureRequest) -> StackedIBPMethod:
    return request.getfixturevalue(request.param)


def test_objects_are_outlined_and_attributes_bound(whole: StackedIBPMethod, worlds: tuple[World, World]) -> None:
    verdict = score_method(whole, worlds[1])
    least = Scores(segmentation=0.9, location=0.98, binding=0.85, photo=0.98, boxes=0.85)
    assert all(got >= wanted for got, wanted in zip(verdict, least, strict=True)), verdict


def test_photos_are_ranked_as_find_ranks_them(method: StackedIBPMethod, worlds: tuple[World, World]) -> None:
    photos = worlds[1].photos[:5]
    for seen, posterior in zip(method.predict(photos), predict_photos(method._predictor, photos), strict=True):
        assert_allclose(np.exp(seen.log_joint), posterior.found, rtol=1e-6, atol=1e-12)


def test_the_papers_model_answers_by_its_posterior(pure: StackedIBPMethod, worlds: tuple[World, World]) -> None:
    verdict = score_method(pure, worlds[1])
    assert verdict.location >= 0.9, verdict
    assert verdict.photo >= 0.9, verdict


def test_threads_of_blas_change_nothing(whole: StackedIBPMethod, worlds: tuple[World, World]) -> None:
    learn, test = worlds
    with threadpool_limits(2, user_api="blas"):
        again = StackedIBPMethod(n_free=4).fit(learn.photos, learn.tags, seed=0)
    one, two = (np.concatenate([seen.objects for seen in method.predict(test.photos)]) for method in (whole, again))
    assert_array_equal(one, two)


def test_a_photo_shows_nothing_but_what_it_may(method: StackedIBPMethod, worlds: tuple[World, World]) -> None:
    _, test = worlds
    assert isinstance(method, GuidedMethod)
    for seen, objects in zip(method.predict_within(test.photos, test.tags), test.tags.objects, strict=True):
        assert set(seen.labels) <= {0, *(np.flatnonzero(objects) + 1)}
        assert seen.objects[:, objects == 0].max() < -20


def test_learning_from_the_new_photos_leaves_the_method_as_it_is(
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
def test_what_an_ablation_changes_is_changed(whole: StackedIBPMethod, worlds: tuple[World, World]) -> None:
    learn, _ = worlds
    few = slice(0, 40)
    tags = Tags(learn.tags.objects[few], learn.tags.attributes[few])
    for entry in ABLATIONS.values():
        fitted = StackedIBPMethod(**{**entry.parameters, "n_free": 2}).fit(learn.photos[few], tags)._predictor
        for name, value in entry.parameters.get("weights", {}).items():
            assert fitted.parts.classifiers is not None
            assert getattr(fitted.parts.classifiers.weights, name) == value != getattr(ClassifierWeights(), name)
        frozen = np.array_equal(fitted.parts.learned.state.affinity, correlate_tags(np.hstack(tags), 2))
        assert frozen == (not entry.parameters.get("learn_affinity", True))
