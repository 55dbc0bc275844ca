"""Photo-level evidence and attribute evidence, computed by hand."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tagsight.classifiers.calibration import MAX_CALIBRATION_LOG_ODDS, Calibration, fit_calibration
from tagsight.data.vocabulary import Tags
from tagsight.engine.inference import NewPhotos, infer_photos
from tagsight.features.photo_features import PhotoFeatures
from tagsight.predict.photo_evidence import collect_photo_evidence, compute_attribute_evidence
from tagsight.predict.predictor import Predictor, predict_photos, stack_regions
from tagsight.training import fit as fitting
from tagsight.training.batches import FeatureSpace, InMemoryBatches, OnDiskBatches
from tagsight.training.fit import fit_photos
from tagsight.training.held_out import calibrate_posteriors
from tagsight.training.options import TrainOptions
from tagsight.types import Array
from tagsight_bench.evaluation.mask_measures import average_defined
from tagsight_bench.evaluation.ranking import average_precision, measure_columns
from tests.baselines.planted import World, draw_world


def test_attribute_evidence_is_a_mean_of_log_odds_weighted_by_affinity() -> None:
    M = np.array([[0.5, -0.25, 0.0], [0.0, 0.0, 0.2]])
    strongest = np.array([[4.0, 8.0, -6.0], [-np.inf, 8.0, 1e9], [-np.inf, -np.inf, -np.inf]])
    expected = [[(0.5 * 4 - 0.25 * 8) / 0.75, -6.0], [-8.0, MAX_CALIBRATION_LOG_ODDS], [0.0, 0.0]]
    assert_allclose(compute_attribute_evidence(strongest, M), expected)


def test_an_object_without_correlated_attributes_has_no_attribute_evidence() -> None:
    assert compute_attribute_evidence(np.array([[3.0, 4.0]]), np.zeros((2, 2))).tolist() == [[0.0, 0.0]]
    assert compute_attribute_evidence(np.zeros((2, 0)), np.zeros((3, 0))).tolist() == [[0.0] * 3] * 2


@pytest.fixture(scope="module")
def world() -> World:
    return draw_world(150, seed=0)


def fit(world: World, affinity: float) -> Predictor:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "MAX_SWEEPS", 25)
        options = TrainOptions(n_free=2, coupling=0.4, affinity=affinity, centred=True, classifiers=False)
        return fit_photos(world.photos, world.tags, options).predictor


@pytest.fixture(scope="module")
def fitted(world: World) -> Predictor:
    return fit(world, 2.0)


def calibrate(fitted: Predictor, objects: Calibration) -> Predictor:
    """The predictor with another calibration of objects."""
    return fitted._replace(calibration=fitted.calibration._replace(objects=objects))


def infer(fitted: Predictor, photo: PhotoFeatures) -> Array:
    """(R, K) log-odds of one photo, all factors allowed."""
    stacked = stack_regions([photo], fitted.embedding)
    anything = np.ones((1, fitted.parts.learned.settings.factors.total), np.uint8)
    return infer_photos(fitted.parts.learned, NewPhotos(*stacked, anything)).log_odds


def test_the_probability_of_an_object_combines_its_best_region_and_the_attribute_evidence(
    world: World, fitted: Predictor
) -> None:
    scale = Calibration(0.1, -1.0, None, 0.3)
    factors = fitted.parts.learned.settings.factors
    M = fitted.parts.learned.state.affinity[: factors.objects, factors.objects : factors.tagged]
    for photo, posterior in zip(
        world.photos[:5], predict_photos(calibrate(fitted, scale), world.photos[:5]), strict=True
    ):
        objects, attributes = np.hsplit(infer(fitted, photo)[:, : factors.tagged], [factors.objects])
        for o in range(factors.objects):
            total = sum(
                M[o, a] * min(max(attributes[:, a].max(), -MAX_CALIBRATION_LOG_ODDS), MAX_CALIBRATION_LOG_ODDS)
                for a in range(factors.attributes)
            )
            attribute_evidence = total / np.abs(M[o]).sum()
            assert posterior.photo[o] == pytest.approx(scale.apply(objects[:, o].max(), attribute_evidence), rel=1e-4)
            found_odds = fitted.calibration.attributes.apply(attributes[np.argmax(objects[:, o])])
            assert_allclose(posterior.attributes_by_object[o], found_odds, rtol=1e-4)


def test_objects_and_attributes_that_are_not_allowed_have_no_effect(world: World, fitted: Predictor) -> None:
    fitted = calibrate(fitted, Calibration(0.1, -1.0, None, 0.3))
    n_objects, n_attributes = (part.shape[1] for part in world.tags)
    allowed = Tags(np.ones((3, n_objects), np.uint8), np.zeros((3, n_attributes), np.uint8))
    allowed.objects[:, 0] = 0
    alone = calibrate(fitted, Calibration(0.1, -1.0, None))
    supported, unsupported = (predict_photos(model, world.photos[:3], allowed) for model in (fitted, alone))
    assert len(supported) == 3
    for with_support, without in zip(supported, unsupported, strict=True):
        assert with_support.photo[0] == 0
        assert (with_support.photo[1:] > 0).all()
        assert_allclose(with_support.photo, without.photo)


def test_without_the_field_attribute_evidence_is_zero(world: World) -> None:
    alone = fit(world, 0.0)
    assert alone.parts.learned.state.affinity.any()  # estimated, but not used
    assert alone.calibration.objects.photo_slope == 0.0
    log_odds = np.random.default_rng(0).normal(size=(6, alone.parts.learned.settings.factors.total))
    assert not collect_photo_evidence(
        log_odds, np.array([0, 0, 0, 1, 1, 1]), alone.parts.learned
    ).attribute_evidence.any()


def test_attribute_evidence_improves_the_ranking_of_objects_with_correlated_attributes() -> None:
    """On the planted photos in which each object has only its own two attributes."""
    drawn = draw_world(1500, seed=1)
    mine = [
        i
        for i, found in enumerate(drawn.instances)
        if all(set(np.flatnonzero(has)) <= {o, o + 1} for o, has in zip(found.objects, found.attributes, strict=True))
    ]
    train, test = mine[: len(mine) // 2], mine[len(mine) // 2 :]
    rng = np.random.default_rng(0)

    def blur(photo: PhotoFeatures) -> PhotoFeatures:
        return photo._replace(features=photo.features + rng.normal(0, 1.5, photo.features.shape).astype(np.float16))

    photos = [blur(photo) for photo in drawn.photos]
    tags = Tags(drawn.tags.objects[train], drawn.tags.attributes[train])
    found = fit(drawn._replace(photos=[photos[i] for i in train], tags=tags), 2.0)
    assert found.calibration.objects.photo_slope > 0.01
    new, truth = [photos[i] for i in test], drawn.tags.objects[test]
    right = [
        average_defined(
            measure_columns(
                average_precision, np.array([prediction.photo for prediction in predict_photos(model, new)]), truth
            )
        )
        for model in (found, calibrate(found, found.calibration.objects._replace(photo_slope=0.0)))
    ]
    assert right[0] > right[1] + 0.01


def test_posterior_calibration_equals_that_computed_photo_by_photo(
    world: World, fitted: Predictor, tmp_path: Path
) -> None:
    """Attributes at the tagged objects, or anywhere in photos without one; objects with their attribute evidence."""
    n, K, A = 40, *(part.shape[1] for part in world.tags)
    M = np.zeros_like(fitted.parts.learned.state.affinity)
    M[:K, K : 2 * K] = np.eye(K)
    learned = fitted.parts.learned._replace(state=fitted.parts.learned.state._replace(affinity=M))
    fitted, photos = fitted._replace(parts=fitted.parts._replace(learned=learned)), world.photos[:n]
    log_odds = [infer(fitted, photo) for photo in photos]
    attribute_evidence = np.array([[one[:, K + o].max() for o in range(K)] for one in log_odds])
    tags = Tags(
        (attribute_evidence > np.median(attribute_evidence, axis=0)).astype(np.uint8), world.tags.attributes[:n]
    )
    assert not tags.objects.any(axis=1).all()
    space = FeatureSpace(fitted.embedding, fitted.embedding.projection)
    found = calibrate_posteriors(InMemoryBatches(photos, space), tags, fitted.parts)
    strongest = np.array([one[:, :K].max(axis=0) for one in log_odds])
    objects = fit_calibration(strongest.T.ravel(), tags.objects.T.ravel(), attribute_evidence.T.ravel())
    assert found.calibration.objects.photo_slope > 0.01
    for part in ("slope", "photo_slope", "offset"):
        assert getattr(found.calibration.objects, part) == pytest.approx(getattr(objects, part), rel=1e-3)
    located = [(i, one[:, o].argmax()) for i, one in enumerate(log_odds) for o in np.flatnonzero(tags.objects[i])]
    found_odds = [log_odds[i][j, K : K + A] for i, j in located]
    bare = [i for i in range(n) if not tags.objects[i].any()]
    found_odds += [log_odds[i][:, K : K + A].max(axis=0) for i in bare]
    real = tags.attributes[[i for i, _ in located] + bare]
    attributes = fit_calibration(np.array(found_odds).T.ravel(), real.T.ravel())
    assert_allclose(found.calibration.attributes[:2], attributes[:2], rtol=1e-3)
    sizes = np.array([len(photo.features) for photo in photos])
    stored = calibrate_posteriors(OnDiskBatches(photos, sizes, space, tmp_path, 13), tags, fitted.parts)
    assert stored == found
