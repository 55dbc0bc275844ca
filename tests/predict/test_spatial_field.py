"""The field over similar regions of new photos, in models without region classifiers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax

from tagsight.classifiers.photo_prior import AdjustedScores
from tagsight.classifiers.smoothing import compute_appearance_distance, smooth_scores
from tagsight.data.vocabulary import Tags
from tagsight.predict.predictor import Prediction, Predictor, _smooth_classes, infer_regions, predict_photos
from tagsight.training.fit import fit_photos
from tagsight.training.options import TrainOptions
from tests.baselines.planted import World, draw_world

STRENGTH = 0.6


@pytest.fixture(scope="module")
def worlds() -> tuple[World, World]:
    return draw_world(100, seed=0), draw_world(20, seed=1)


@pytest.fixture(scope="module", params=["ws-mrf-sibp", "additive"])
def fitted(request: pytest.FixtureRequest, worlds: tuple[World, World]) -> Predictor:
    train, _ = worlds
    return fit_photos(train.photos, train.tags, TrainOptions.from_preset(request.param, n_free=3)).predictor


def predict_at(fitted: Predictor, world: World, strength: float, allowed: Tags | None = None) -> list[Prediction]:
    smoothed = fitted._replace(parts=fitted.parts._replace(smoothing=strength))
    return predict_photos(smoothed, world.photos, allowed)


def test_training_stores_the_strength_of_the_preset(worlds: tuple[World, World]) -> None:
    for preset, strength in (("ws-mrf-sibp", 0.7), ("additive", 0.0)):
        options = TrainOptions.from_preset(preset, n_free=1)
        few = Tags(*(part[:20] for part in worlds[0].tags))
        assert fit_photos(worlds[0].photos[:20], few, options).predictor.parts.smoothing == strength


def test_the_scores_of_classes_solve_the_equation_of_the_field(fitted: Predictor, worlds: tuple[World, World]) -> None:
    """Exclusive classes are smoothed as log-probabilities, other objects as log-odds."""
    _, world = worlds
    stacked, _ = infer_regions(fitted, world.photos)
    n_objects = fitted.parts.learned.settings.factors.objects
    exclusive = fitted.parts.learned.settings.exclusive
    rng = np.random.default_rng(0)
    classes, objects = rng.normal(size=(len(stacked.X), 1 + n_objects)), rng.normal(size=(len(stacked.X), n_objects))
    scores = AdjustedScores(classes, objects)
    found = _smooth_classes(scores, world.photos, stacked.X, STRENGTH, exclusive=exclusive)
    for i, photo in enumerate(world.photos):
        rows = stacked.groups == i
        distance, area = compute_appearance_distance(stacked.X[rows]), photo.area.astype(np.float64)
        if exclusive:
            probability = softmax(smooth_scores(log_softmax(classes[rows], axis=1), distance, area, STRENGTH), axis=1)
            assert_allclose(softmax(found[rows], axis=1), probability)
        else:
            assert_allclose(found[rows, 1:], smooth_scores(objects[rows], distance, area, STRENGTH))
            assert_array_equal(found[rows, 0], classes[rows, 0])
    assert_array_equal(_smooth_classes(scores, world.photos, stacked.X, 0.0, exclusive=exclusive), classes)


def test_similar_regions_get_similar_objects(fitted: Predictor, worlds: tuple[World, World]) -> None:
    def disagreement(strength: float) -> float:
        total = 0.0
        for photo, prediction in zip(worlds[1].photos, predict_at(fitted, worlds[1], strength), strict=True):
            distance = compute_appearance_distance(photo.features.astype(np.float64))
            np.fill_diagonal(distance, np.inf)
            total += np.abs(prediction.objects - prediction.objects[distance.argmin(axis=1)]).sum()
        return total

    assert disagreement(0.9) < disagreement(0.0)


def test_photos_and_attributes_do_not_depend_on_the_field(fitted: Predictor, worlds: tuple[World, World]) -> None:
    for plain, smoothed in zip(
        predict_at(fitted, worlds[1], 0.0), predict_at(fitted, worlds[1], STRENGTH), strict=True
    ):
        assert_array_equal(plain.photo, smoothed.photo)
        assert_array_equal(plain.attributes_by_object, smoothed.attributes_by_object)
        assert np.abs(plain.objects - smoothed.objects).max() > 0


def test_objects_that_are_not_allowed_stay_excluded(fitted: Predictor, worlds: tuple[World, World]) -> None:
    world = worlds[1]
    objects = world.tags.objects.copy()
    objects[:, 0] = 0
    for prediction in predict_at(fitted, world, STRENGTH, Tags(objects, np.ones_like(world.tags.attributes))):
        assert not prediction.objects[:, 0].any()
        assert prediction.photo[0] == 0
        assert np.isfinite(prediction.objects).all()
