"""Attributes of objects, from training to answers, on planted photos."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from tagsight import fitting
from tagsight.bench.ours import StackedIBPMethod
from tagsight.calibration import Calibration
from tagsight.data.vocabulary import Tags
from tagsight.errors import InputError
from tagsight.evaluation.given_location import score_given_location
from tagsight.evaluation.given_name import score_given_name
from tagsight.fitting import FitOptions, Fitted, fit_photos
from tagsight.model.object_attributes import learn_probability
from tagsight.photo_attributes import AS_MODELLED, complete_counts, describe_objects, describe_parts
from tagsight.photo_runs import ALIGN
from tagsight.trained import infer_posterior, look_at
from tests.baselines.planted import ATTRIBUTES, OBJECTS, World, draw_world

OPTIONS = FitOptions(
    n_free=3, coupling=0.0, affinity=0.0, noise="full", exclusive=True, readout=False, attributes_of="objects"
)


@pytest.fixture(scope="module")
def world() -> World:
    return draw_world(ALIGN + 100, seed=0)


@pytest.fixture(scope="module")
def fitted(world: World) -> Fitted:
    return fit_photos(world.photos, world.tags, OPTIONS)


def test_regions_have_no_attributes_of_their_own(fitted: Fitted, world: World) -> None:
    assert not fitted.learned.summary.count[OBJECTS : OBJECTS + ATTRIBUTES].any()
    assert fitted.object_attributes is not None
    assert_array_equal(fitted.object_attributes.probability, learn_probability(*world.tags))


def test_answers_put_together_by_hand(fitted: Fitted, world: World) -> None:
    attributes = fitted.object_attributes
    assert attributes is not None
    fitted = fitted._replace(attributes=Calibration(0.7, -0.2, None, 0.4))
    phi = fitted.learned.state.appearance.mean[:OBJECTS]
    for photo, posterior in zip(world.photos[:3], look_at(fitted, world.photos[:3]), strict=True):
        stacked, seen = infer_posterior(fitted, [photo])
        assert np.isneginf(seen.log_odds[:, OBJECTS : OBJECTS + ATTRIBUTES]).all()
        share = seen.assign[:, :OBJECTS].astype(np.float64)
        for o in range(OBJECTS):
            if share[:, o].sum() < 0.5:
                continue
            deviation = share[:, o] @ stacked.X / share[:, o].sum() - phi[o]
            theta = attributes.probability[o]
            length = np.sum(attributes.effect * attributes.weights, axis=1)
            evidence = attributes.weights @ deviation - (0.5 - theta) * length
            odds = fitted.attributes.slope * evidence + fitted.attributes.offset
            expected = expit(odds + fitted.attributes.whole * np.log(theta / (1 - theta)))
            assert_allclose(posterior.of_objects[o], expected, rtol=1e-3)
        assert_allclose(posterior.attributes, share @ posterior.of_objects, rtol=1e-4, atol=1e-6)
    allowed = Tags(np.ones((1, OBJECTS), np.uint8), np.array([[1, 0, 1, 1, 1]], np.uint8))
    (within,) = look_at(fitted, world.photos[:1], allowed)
    assert not within.of_objects[:, 1].any()
    assert not within.attributes[:, 1].any()
    assert within.of_objects[:, 0].all()


def test_a_part_that_is_one_object_is_described_as_that_object(fitted: Fitted, world: World) -> None:
    attributes = fitted.object_attributes
    assert attributes is not None
    stacked, seen = infer_posterior(fitted, world.photos[:1])
    phi = seen.appearance[:OBJECTS]
    share = seen.assign[:, :OBJECTS].astype(np.float64)
    o = int(share.sum(axis=0).argmax())
    described = describe_objects(attributes, fitted.attributes, phi, stacked.X, seen.log_odds)
    mine = np.where(share[:, o] > 0.5, 1.0, 0.0)
    parts = np.stack([mine, np.ones(len(mine))])
    found = describe_parts(attributes, fitted.attributes, phi, stacked.X, seen.log_odds, parts)
    assert_allclose(found[0], described.of_objects[o], rtol=0.02)
    assert ((found > 0) & (found < 1)).all()


def test_planted_attributes_are_found_by_name_and_by_place(world: World) -> None:
    judge = draw_world(150, seed=1)
    options = OPTIONS._asdict()
    del options["weights"]
    method = StackedIBPMethod(**options).fit(world.photos, world.tags)
    assert score_given_name(method.look(judge.photos), judge.instances) > 0.95
    assert score_given_location(method, judge.photos, judge.instances).mean_ap > 0.95


def test_a_budget_of_memory_changes_nothing(fitted: Fitted, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "plan_length", lambda *_: ALIGN)
    stored = fit_photos(world.photos, world.tags, OPTIONS._replace(memory=10**12))
    assert fitted.object_attributes is not None
    assert stored.object_attributes is not None
    for a, b in zip(fitted.object_attributes, stored.object_attributes, strict=True):
        assert_array_equal(a, b)
    assert stored.attributes == fitted.attributes
    assert stored.spots == fitted.spots


def test_examples_of_attributes_are_regions_of_photos_tagged_with_them(fitted: Fitted, world: World) -> None:
    for a in range(ATTRIBUTES):
        spots = fitted.spots[OBJECTS + a]
        assert spots
        for spot in spots:
            assert world.tags.attributes[spot.photo, a]
            assert world.labels[spot.photo][spot.region] > 0


def test_counts_hold_attributes_with_their_objects(fitted: Fitted) -> None:
    assert fitted.object_attributes is not None
    count, pair = complete_counts(fitted.object_attributes, fitted.learned)
    theta, objects = fitted.object_attributes.probability, fitted.learned.summary.count[:OBJECTS]
    assert_allclose(count[OBJECTS : OBJECTS + ATTRIBUTES], objects @ theta)
    assert_allclose(pair, pair.T)
    assert_allclose(np.diag(pair)[: OBJECTS + ATTRIBUTES], count[: OBJECTS + ATTRIBUTES])
    assert pair[1, OBJECTS + 2] == pytest.approx(objects[1] * theta[1, 2])
    assert pair[OBJECTS, OBJECTS + 1] == pytest.approx(np.sum(objects * theta[:, 0] * theta[:, 1]))
    assert_array_equal(count[:OBJECTS], objects)


def test_too_few_photos_to_calibrate_on_leave_the_models_own_odds() -> None:
    few = draw_world(20, seed=2)
    assert fit_photos(few.photos, few.tags, OPTIONS).attributes == AS_MODELLED


def test_photos_without_objects_or_attributes_are_learned_from(world: World) -> None:
    for tags in (
        world.tags._replace(attributes=world.tags.attributes[:, :0]),
        world.tags._replace(objects=world.tags.objects[:, :0]),
        world.tags._replace(objects=np.zeros_like(world.tags.objects)),
    ):
        few = Tags(tags.objects[:60], tags.attributes[:60])
        one = fit_photos(world.photos[:60], few, OPTIONS)
        (posterior,) = look_at(one, world.photos[:1])
        for part in posterior:
            assert np.isfinite(part).all()
        assert posterior.attributes.shape[1] == few.attributes.shape[1]


def test_new_photos_looked_at_together_are_described_too(fitted: Fitted, world: World) -> None:
    together = look_at(fitted, world.photos[:20], together=True)
    assert all(np.isfinite(part).all() for posterior in together for part in posterior)


def test_beside_region_classifiers_they_are_refused(world: World) -> None:
    with pytest.raises(InputError, match="attributes_of objects is for a model without region classifiers"):
        fit_photos(world.photos, world.tags, FitOptions(attributes_of="objects"))
    with pytest.raises(InputError, match="attributes_of must be one of regions, objects"):
        fit_photos(world.photos, world.tags, FitOptions(attributes_of="photos", readout=False))


def test_calibration_is_of_evidence_and_prior(fitted: Fitted) -> None:
    assert isinstance(fitted.attributes, Calibration)
    assert fitted.attributes.error is not None
    assert fitted.attributes.error < 0.1
