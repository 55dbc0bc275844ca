"""Calibration on held-out photos, compared with a computation photo by photo."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tagsight.classifiers.calibration import fit_calibration
from tagsight.classifiers.regions import EmbeddedRegions
from tagsight.classifiers.score import RegionClassifiers, RegionScores, score_regions
from tagsight.predict.predictor import Predictor, embed
from tagsight.training.batches import FeatureSpace, InMemoryBatches
from tagsight.training.fit import fit_photos
from tagsight.training.held_out import calibrate_classifiers
from tagsight.training.options import TrainOptions
from tests.baselines.planted import World, draw_world


@pytest.fixture(scope="module")
def world() -> World:
    drawn = draw_world(45, seed=0)  # too few photos for a held-out part
    rng = np.random.default_rng(1)
    blurred = [
        photo._replace(features=photo.features + rng.normal(0, 2, photo.features.shape)) for photo in drawn.photos
    ]
    return drawn._replace(photos=blurred)


@pytest.fixture(scope="module")
def fitted(world: World) -> Predictor:
    return fit_photos(world.photos, world.tags, TrainOptions(n_free=2)).predictor


def score_each_photo(fitted: Predictor, world: World, bias: float) -> list[RegionScores]:
    classifiers = get_classifiers(fitted)._replace(bias=bias)
    return [
        score_regions(
            EmbeddedRegions([photo], fitted.embedding.views, embed(photo.features, fitted.embedding)), classifiers
        )
        for photo in world.photos
    ]


def get_classifiers(fitted: Predictor) -> RegionClassifiers:
    assert fitted.parts.classifiers is not None
    return fitted.parts.classifiers


def test_the_share_of_background_equals_that_of_the_pseudo_labels(world: World, fitted: Predictor) -> None:
    space = FeatureSpace(fitted.embedding, fitted.embedding.projection)
    for share in (0.3, 0.8):
        classifiers = get_classifiers(fitted)._replace(background=share)
        bias = calibrate_classifiers(InMemoryBatches(world.photos, space), world.tags, space, classifiers).bias
        outlines = np.concatenate([one.classes.argmax(axis=1) for one in score_each_photo(fitted, world, bias)])
        assert np.mean(outlines == 0) == pytest.approx(share, abs=2 / len(outlines))


def test_classifier_calibration_equals_that_computed_photo_by_photo(world: World, fitted: Predictor) -> None:
    """Objects by their best region and the photo classifier; attributes by the regions that are not background."""
    space = FeatureSpace(fitted.embedding, fitted.embedding.projection)
    found = calibrate_classifiers(InMemoryBatches(world.photos, space), world.tags, space, get_classifiers(fitted))
    scores = score_each_photo(fitted, world, found.bias)
    strongest = np.array([one.objects.max(axis=0) for one in scores])
    whole = np.array([one.photo[0] for one in scores])
    objects = fit_calibration(strongest.T.ravel(), world.tags.objects.T.ravel(), whole.T.ravel())
    found = found.calibration
    assert_allclose(found.objects[:2] + found.objects[3:], objects[:2] + objects[3:], rtol=1e-3, atol=1e-6)
    foreground = [one.classes.argmax(axis=1) > 0 for one in scores]
    has_foreground = np.array([some.any() for some in foreground])
    assert not np.concatenate(foreground).all()
    best_attributes = np.array(
        [one.attributes[some].max(axis=0) for one, some in zip(scores, foreground, strict=True) if some.any()]
    )
    attributes = fit_calibration(best_attributes.T.ravel(), world.tags.attributes[has_foreground].T.ravel())
    assert_allclose(found.attributes[:2], attributes[:2], rtol=1e-3)
