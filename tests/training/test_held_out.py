"""What the readers say of photos held out, compared by hand: photo by photo."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tagsight.classifiers.calibration import fit_calibration
from tagsight.classifiers.regions import Regions
from tagsight.classifiers.score import RegionClassifiers, RegionScores, score_regions
from tagsight.predict.predictor import Predictor, embed
from tagsight.training.batches import FeatureSpace, InMemoryBatches
from tagsight.training.fit import fit_photos
from tagsight.training.held_out import calibrate_classifiers
from tagsight.training.options import TrainOptions
from tests.baselines.planted import World, draw_world


@pytest.fixture(scope="module")
def world() -> World:
    drawn = draw_world(45, seed=0)  # too few to hold any out
    rng = np.random.default_rng(1)
    blurred = [
        photo._replace(features=photo.features + rng.normal(0, 2, photo.features.shape)) for photo in drawn.photos
    ]
    return drawn._replace(photos=blurred)


@pytest.fixture(scope="module")
def fitted(world: World) -> Predictor:
    return fit_photos(world.photos, world.tags, TrainOptions(n_free=2)).predictor


def read_each(fitted: Predictor, world: World, bias: float) -> list[RegionScores]:
    classifiers = take(fitted)._replace(bias=bias)
    return [
        score_regions(Regions([photo], fitted.embedding.views, embed(photo.features, fitted.embedding)), classifiers)
        for photo in world.photos
    ]


def take(fitted: Predictor) -> RegionClassifiers:
    assert fitted.parts.classifiers is not None
    return fitted.parts.classifiers


def test_as_many_regions_are_background_as_in_what_taught_the_reader(world: World, fitted: Predictor) -> None:
    space = FeatureSpace(fitted.embedding, fitted.embedding.projection)
    for share in (0.3, 0.8):
        classifiers = take(fitted)._replace(background=share)
        bias = calibrate_classifiers(InMemoryBatches(world.photos, space), world.tags, space, classifiers).bias
        outlines = np.concatenate([one.classes.argmax(axis=1) for one in read_each(fitted, world, bias)])
        assert np.mean(outlines == 0) == pytest.approx(share, abs=2 / len(outlines))


def test_calibration_is_that_of_photos_read_one_by_one(world: World, fitted: Predictor) -> None:
    """Objects by their clearest region and the whole photo; attributes by the regions that are not background."""
    space = FeatureSpace(fitted.embedding, fitted.embedding.projection)
    found = calibrate_classifiers(InMemoryBatches(world.photos, space), world.tags, space, take(fitted))
    looks = read_each(fitted, world, found.bias)
    strongest = np.array([one.objects.max(axis=0) for one in looks])
    whole = np.array([one.photo[0] for one in looks])
    objects = fit_calibration(strongest.T.ravel(), world.tags.objects.T.ravel(), whole.T.ravel())
    found = found.calibration
    assert_allclose(found.objects[:2] + found.objects[3:], objects[:2] + objects[3:], rtol=1e-3, atol=1e-6)
    named = [one.classes.argmax(axis=1) > 0 for one in looks]
    asked = np.array([some.any() for some in named])
    assert not np.concatenate(named).all()
    like = np.array([one.attributes[some].max(axis=0) for one, some in zip(looks, named, strict=True) if some.any()])
    attributes = fit_calibration(like.T.ravel(), world.tags.attributes[asked].T.ravel())
    assert_allclose(found.attributes[:2], attributes[:2], rtol=1e-3)
