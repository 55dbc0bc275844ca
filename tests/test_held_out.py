"""What the readers say of photos held out, compared by hand: photo by photo."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tagsight.calibration import fit_calibration
from tagsight.fitting import FitOptions, Fitted, fit_photos
from tagsight.held_out import compare_readings
from tagsight.photo_runs import HeldRuns, Space
from tagsight.readout.learn import Readout
from tagsight.readout.read import Reading, read_regions
from tagsight.readout.regions import Regions
from tagsight.trained import embed
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
def fitted(world: World) -> Fitted:
    return fit_photos(world.photos, world.tags, FitOptions(n_free=2))


def read_each(fitted: Fitted, world: World, bias: float) -> list[Reading]:
    readout = take(fitted)._replace(bias=bias)
    return [
        read_regions(Regions([photo], fitted.views, embed(photo.features, fitted.views, fitted.projection)), readout)
        for photo in world.photos
    ]


def take(fitted: Fitted) -> Readout:
    assert fitted.readout is not None
    return fitted.readout


def test_as_many_regions_are_background_as_in_what_taught_the_reader(world: World, fitted: Fitted) -> None:
    space = Space(fitted.views, fitted.projection, fitted.projection)
    for share in (0.3, 0.8):
        readout = take(fitted)._replace(background=share)
        bias = compare_readings(HeldRuns(world.photos, space), world.tags, space, readout).bias
        outlines = np.concatenate([one.classes.argmax(axis=1) for one in read_each(fitted, world, bias)])
        assert np.mean(outlines == 0) == pytest.approx(share, abs=2 / len(outlines))


def test_calibration_is_that_of_photos_read_one_by_one(world: World, fitted: Fitted) -> None:
    """Objects by their clearest region and the whole photo; attributes by the regions that are not background."""
    space = Space(fitted.views, fitted.projection, fitted.projection)
    found = compare_readings(HeldRuns(world.photos, space), world.tags, space, take(fitted))
    looks = read_each(fitted, world, found.bias)
    strongest = np.array([one.objects.max(axis=0) for one in looks])
    whole = np.array([one.whole[0] for one in looks])
    objects = fit_calibration(strongest.T.ravel(), world.tags.objects.T.ravel(), whole.T.ravel())
    assert_allclose(found.objects[:2] + found.objects[3:], objects[:2] + objects[3:], rtol=1e-3, atol=1e-6)
    named = [one.classes.argmax(axis=1) > 0 for one in looks]
    asked = np.array([some.any() for some in named])
    assert not np.concatenate(named).all()
    like = np.array([one.attributes[some].max(axis=0) for one, some in zip(looks, named, strict=True) if some.any()])
    attributes = fit_calibration(like.T.ravel(), world.tags.attributes[asked].T.ravel())
    assert_allclose(found.attributes[:2], attributes[:2], rtol=1e-3)
