"""Attributes of objects, from training to predictions, on planted photos."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from tagsight.classifiers.calibration import Calibration
from tagsight.data.vocabulary import Tags
from tagsight.errors import InputError
from tagsight.model.object_attributes import learn_probability
from tagsight.predict.object_attributes import (
    SUM_CALIBRATION,
    complete_counts,
    describe_objects,
    describe_parts,
)
from tagsight.predict.predictor import Calibrations, Predictor, infer_regions, predict_photos
from tagsight.training import fit as fitting
from tagsight.training.batches import ALIGN
from tagsight.training.fit import FitResult, fit_photos
from tagsight.training.options import TrainOptions
from tagsight_bench.evaluation.annotation import score_given_location, score_given_name
from tagsight_bench.tagsight_method import StackedIBPMethod
from tests.baselines.planted import ATTRIBUTES, OBJECTS, World, draw_world

OPTIONS = TrainOptions(
    n_free=3, coupling=0.0, affinity=0.0, noise="full", exclusive=True, classifiers=False, attributes_of="objects"
)


@pytest.fixture(scope="module")
def world() -> World:
    return draw_world(ALIGN + 100, seed=0)


@pytest.fixture(scope="module")
def parts(world: World) -> FitResult:
    return fit_photos(world.photos, world.tags, OPTIONS)


@pytest.fixture(scope="module")
def fitted(parts: FitResult) -> Predictor:
    return parts.predictor


def test_regions_have_no_attributes_of_their_own(fitted: Predictor, world: World) -> None:
    assert not fitted.parts.learned.summary.count[OBJECTS : OBJECTS + ATTRIBUTES].any()
    assert fitted.parts.object_attributes is not None
    assert_array_equal(fitted.parts.object_attributes.probability, learn_probability(*world.tags))


def test_regions_may_have_attributes_beside_objects(world: World) -> None:
    """They explain regions, while the attributes of objects describe them."""
    options = replace(OPTIONS, attributes_of="both", shrinkage=10.0, attribute_shrinkage=100.0)
    fitted = fit_photos(world.photos[:100], Tags(*(part[:100] for part in world.tags)), options).predictor
    assert fitted.parts.learned.summary.count[OBJECTS : OBJECTS + ATTRIBUTES].all()
    assert fitted.parts.object_attributes is not None
    stacked, inference = infer_regions(fitted, world.photos[:5])
    assert np.isfinite(inference.log_odds[:, OBJECTS : OBJECTS + ATTRIBUTES]).all()
    for i, posterior in enumerate(predict_photos(fitted, world.photos[:5])):
        of_objects = inference.assign[stacked.groups == i, :OBJECTS] @ posterior.attributes_by_object
        assert_allclose(posterior.attributes, of_objects, rtol=1e-4, atol=1e-6)


def test_predictions_match_a_computation_by_hand(fitted: Predictor, world: World) -> None:
    attributes = fitted.parts.object_attributes
    assert attributes is not None
    fitted = fitted._replace(calibration=Calibrations(attributes=Calibration(0.7, -0.2, None, 0.4)))
    phi = fitted.parts.learned.state.appearance.mean[:OBJECTS]
    for photo, posterior in zip(world.photos[:3], predict_photos(fitted, world.photos[:3]), strict=True):
        stacked, inference = infer_regions(fitted, [photo])
        assert np.isneginf(inference.log_odds[:, OBJECTS : OBJECTS + ATTRIBUTES]).all()
        share = inference.assign[:, :OBJECTS].astype(np.float64)
        for o in range(OBJECTS):
            if share[:, o].sum() < 0.5:
                continue
            deviation = share[:, o] @ stacked.X / share[:, o].sum() - phi[o]
            theta = attributes.probability[o]
            length = np.sum(attributes.effect * attributes.weights, axis=1)
            evidence = attributes.weights @ deviation - (0.5 - theta) * length
            log_odds = fitted.calibration.attributes.slope * evidence + fitted.calibration.attributes.offset
            expected = expit(log_odds + fitted.calibration.attributes.photo_slope * np.log(theta / (1 - theta)))
            assert_allclose(posterior.attributes_by_object[o], expected, rtol=1e-3)
        assert_allclose(posterior.attributes, share @ posterior.attributes_by_object, rtol=1e-4, atol=1e-6)
    allowed = Tags(np.ones((1, OBJECTS), np.uint8), np.array([[1, 0, 1, 1, 1]], np.uint8))
    (within,) = predict_photos(fitted, world.photos[:1], allowed)
    assert not within.attributes_by_object[:, 1].any()
    assert not within.attributes[:, 1].any()
    assert within.attributes_by_object[:, 0].all()


def test_a_part_that_is_one_object_is_described_as_that_object(fitted: Predictor, world: World) -> None:
    attributes = fitted.parts.object_attributes
    assert attributes is not None
    stacked, inference = infer_regions(fitted, world.photos[:1])
    phi = inference.appearance[:OBJECTS]
    share = inference.assign[:, :OBJECTS].astype(np.float64)
    o = int(share.sum(axis=0).argmax())
    described = describe_objects(attributes, fitted.calibration.attributes, phi, stacked.X, inference.log_odds)
    mine = np.where(share[:, o] > 0.5, 1.0, 0.0)
    parts = np.stack([mine, np.ones(len(mine))])
    found = describe_parts(attributes, fitted.calibration.attributes, phi, stacked.X, inference.log_odds, parts)
    assert_allclose(found[0], described.attributes_by_object[o], rtol=0.02)
    assert ((found > 0) & (found < 1)).all()


def test_planted_attributes_are_found_given_name_and_given_location(world: World) -> None:
    test_world = draw_world(150, seed=1)
    options = {name: value for name, value in vars(OPTIONS).items() if name != "weights"}
    method = StackedIBPMethod(**options).fit(world.photos, world.tags)
    assert score_given_name(method.predict(test_world.photos), test_world.instances) > 0.95
    assert score_given_location(method, test_world.photos, test_world.instances).mean_ap > 0.95


def test_a_memory_limit_does_not_change_the_result(
    parts: FitResult, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "plan_length", lambda *_: ALIGN)
    spilled = fit_photos(world.photos, world.tags, replace(OPTIONS, memory=10**12))
    fitted, stored = parts.predictor, spilled.predictor
    assert fitted.parts.object_attributes is not None
    assert stored.parts.object_attributes is not None
    for a, b in zip(fitted.parts.object_attributes, stored.parts.object_attributes, strict=True):
        assert_array_equal(a, b)
    assert stored.calibration.attributes == fitted.calibration.attributes
    assert spilled.top_regions == parts.top_regions


def test_examples_of_attributes_are_regions_of_photos_tagged_with_them(parts: FitResult, world: World) -> None:
    for a in range(ATTRIBUTES):
        top_regions = parts.top_regions[OBJECTS + a]
        assert top_regions
        for spot in top_regions:
            assert world.tags.attributes[spot.photo, a]
            assert world.labels[spot.photo][spot.region] > 0


def test_counts_of_attributes_follow_their_objects(fitted: Predictor) -> None:
    assert fitted.parts.object_attributes is not None
    count, pair = complete_counts(fitted.parts.object_attributes, fitted.parts.learned)
    theta, objects = fitted.parts.object_attributes.probability, fitted.parts.learned.summary.count[:OBJECTS]
    assert_allclose(count[OBJECTS : OBJECTS + ATTRIBUTES], objects @ theta)
    assert_allclose(pair, pair.T)
    assert_allclose(np.diag(pair)[: OBJECTS + ATTRIBUTES], count[: OBJECTS + ATTRIBUTES])
    assert pair[1, OBJECTS + 2] == pytest.approx(objects[1] * theta[1, 2])
    assert pair[OBJECTS, OBJECTS + 1] == pytest.approx(np.sum(objects * theta[:, 0] * theta[:, 1]))
    assert_array_equal(count[:OBJECTS], objects)


def test_without_held_out_photos_odds_are_uncalibrated() -> None:
    few = draw_world(20, seed=2)
    assert fit_photos(few.photos, few.tags, OPTIONS).predictor.calibration.attributes == SUM_CALIBRATION


def test_photos_without_objects_or_attributes_are_used_in_training(world: World) -> None:
    for tags in (
        world.tags._replace(attributes=world.tags.attributes[:, :0]),
        world.tags._replace(objects=world.tags.objects[:, :0]),
        world.tags._replace(objects=np.zeros_like(world.tags.objects)),
    ):
        few = Tags(tags.objects[:60], tags.attributes[:60])
        one = fit_photos(world.photos[:60], few, OPTIONS).predictor
        (posterior,) = predict_photos(one, world.photos[:1])
        for part in posterior:
            assert np.isfinite(part).all()
        assert posterior.attributes.shape[1] == few.attributes.shape[1]


def test_transductive_predictions_have_attributes(fitted: Predictor, world: World) -> None:
    transductive = predict_photos(fitted, world.photos[:20], transductive=True)
    assert len(transductive) == 20
    assert all(np.isfinite(part).all() for posterior in transductive for part in posterior)


def test_attributes_of_objects_are_refused_together_with_region_classifiers(world: World) -> None:
    with pytest.raises(InputError, match="attributes_of objects needs a model without region classifiers"):
        fit_photos(world.photos, world.tags, TrainOptions(attributes_of="objects"))
    with pytest.raises(InputError, match="attributes_of must be one of regions, objects, both"):
        fit_photos(world.photos, world.tags, TrainOptions(attributes_of="photos", classifiers=False))


def test_calibration_weighs_evidence_and_prior(fitted: Predictor) -> None:
    assert isinstance(fitted.calibration.attributes, Calibration)
    assert fitted.calibration.attributes.error is not None
    assert fitted.calibration.attributes.error < 0.1
