"""Predictions of a trained model, computed by hand from its parts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from tagsight.classifiers import fit as learn
from tagsight.classifiers.regions import EmbeddedRegions
from tagsight.classifiers.score import ClassifierWeights, score_regions
from tagsight.data.vocabulary import Tags
from tagsight.predict.predictor import predict_photos, stack_regions
from tagsight.training import fit as fitting
from tagsight.training.fit import fit_photos
from tagsight.training.options import TrainOptions
from tests.baselines.planted import draw_world


def test_the_probability_of_an_object_combines_its_best_region_and_the_photo_classifier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fitting, "MAX_SWEEPS", 25)
    world = draw_world(150, seed=0)
    fitted = fit_photos(world.photos, world.tags, TrainOptions(n_free=2)).predictor
    assert fitted.parts.classifiers is not None
    new = world.photos[:5]
    stacked = stack_regions(new, fitted.embedding)
    scores = score_regions(EmbeddedRegions(new, fitted.embedding.views, stacked.X), fitted.parts.classifiers)
    scale = fitted.calibration.objects
    assert scale.photo_slope > 0
    for i, posterior in enumerate(predict_photos(fitted, new)):
        clearest = scores.objects[stacked.groups == i].max(axis=0)
        expected = expit(scale.slope * clearest + scale.photo_slope * scores.photo[i] + scale.offset)
        assert_allclose(posterior.photo, expected, rtol=1e-5)
        assert_allclose(posterior.presence_by_region.max(axis=0), posterior.photo)
        assert np.array_equal(posterior.presence_by_region.argmax(axis=0), posterior.objects.argmax(axis=0))
    allowed = Tags(np.ones_like(world.tags.objects[:5]), world.tags.attributes[:5])
    allowed.objects[:, 0] = 0
    for posterior in predict_photos(fitted, new, allowed):
        assert posterior.photo[0] == 0
        assert (posterior.presence_by_region[:, 0] == 0).all()


@pytest.mark.parametrize("background", [True, False])
def test_smoothing_is_weaker_without_background(background: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "MAX_SWEEPS", 5)
    monkeypatch.setattr(learn, "has_background_class", lambda *_: background)
    world = draw_world(40, seed=1)
    fitted = fit_photos(world.photos, world.tags, TrainOptions(n_free=2)).predictor
    assert fitted.parts.classifiers is not None
    assert fitted.parts.classifiers.weights.smoothing == ClassifierWeights().smoothing * (
        1.0 if background else learn.SMOOTHING_WITHOUT_BACKGROUND
    )
    assert (fitted.parts.classifiers.weights.smoothing < ClassifierWeights().smoothing) == (not background)
    assert (fitted.parts.classifiers.background > 0) == background


def test_the_photo_effect_subtracts_a_share_of_the_photos_mean() -> None:
    """Training, new photos and boxes use one embedding, which a share of 1 centres on the photo."""
    world = draw_world(60, seed=1)
    plain, centred = (
        fit_photos(world.photos, world.tags, TrainOptions(n_free=2, classifiers=False, photo_effect=effect)).predictor
        for effect in (0.0, 0.4)
    )
    photos = world.photos[:3]
    without, with_ = (stack_regions(photos, one.embedding) for one in (plain, centred))
    means = np.stack([without.X[without.groups == i].mean(axis=0) for i in range(3)])
    assert_allclose(with_.X, without.X - 0.4 * means[without.groups], atol=1e-6)
    assert np.abs(means).max() > 0.01
    sums = centred.parts.learned.summary
    everything = stack_regions(world.photos, centred.embedding).X.astype(np.float64)
    assert_allclose(sums.square, np.sum(everything**2), rtol=1e-5)


def test_attributes_alone_are_learned_without_region_classifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "MAX_SWEEPS", 5)
    world = draw_world(60, seed=2)
    fitted = fit_photos(
        world.photos, world.tags._replace(objects=world.tags.objects[:, :0]), TrainOptions(n_free=2)
    ).predictor
    assert fitted.parts.classifiers is None
    for photo, posterior in zip(world.photos[:3], predict_photos(fitted, world.photos[:3]), strict=True):
        assert posterior.objects.shape == (len(photo.features), 0)
        assert posterior.attributes.shape == (len(photo.features), world.tags.attributes.shape[1])
        assert np.isfinite(posterior.attributes).all()
