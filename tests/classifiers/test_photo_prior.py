"""The photo-level prior: planted parameters, Bayes' rule by hand, limits, and the path from training to predictions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from scipy.stats import multivariate_normal

from tagsight.classifiers.photo_prior import (
    SIZE_EXPONENT,
    apply_photo_prior,
    average_regions,
    average_sizes,
    fit_photo_prior,
)
from tagsight.data.vocabulary import Tags
from tagsight.errors import InputError
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.transforms import Projection
from tagsight.model.object_attributes import RAREST, SUREST
from tagsight.model.settings import Factors
from tagsight.predict.predictor import Predictor, infer_regions, predict_photos
from tagsight.training.fit import fit_photos
from tagsight.training.options import TrainOptions
from tests.baselines.planted import OBJECTS, World, draw_world
from tests.evaluation.cases import make_photo

OPTIONS = TrainOptions(
    n_free=3, coupling=0.0, affinity=0.0, noise="full", exclusive=True, classifiers=False, photo_prior=10.0
)


THREE = Factors(objects=3, attributes=0, free=1)


@pytest.fixture(scope="module")
def world() -> World:
    return draw_world(200, seed=0)


@pytest.fixture(scope="module")
def fitted(world: World) -> Predictor:
    return fit_photos(world.photos, world.tags, OPTIONS).predictor


def test_the_vector_of_a_photo_is_the_area_weighted_mean() -> None:
    photo = make_photo(rows=1, columns=2)
    uneven = photo._replace(features=np.array([[1.0], [5.0]]), labels=np.array([[0, 0, 0, 1]], np.int32))
    assert_allclose(average_regions(uneven), [2.0])


def draw_one_region_photos(
    n_photos: int, *, seed: int
) -> tuple[list[PhotoFeatures], np.ndarray, np.ndarray, np.ndarray]:
    """Photos of one region whose mean the tags shift; the tags, the shifts (K_o, D) and the covariance Psi."""
    rng = np.random.default_rng(99)
    shifts, root = rng.normal(size=(3, 4)), rng.normal(size=(4, 4))
    Psi = 0.2 * root @ root.T + 0.1 * np.eye(4)
    rng = np.random.default_rng(seed)
    tags = (rng.random((n_photos, 3)) < [0.5, 0.3, 0.1]).astype(np.uint8)
    rows = 3.0 + tags @ shifts + rng.multivariate_normal(np.zeros(4), Psi, n_photos)
    blank = make_photo(rows=1, columns=1)
    return [blank._replace(features=row[None], labels=np.zeros((1, 1), np.int32)) for row in rows], tags, shifts, Psi


def test_the_score_follows_bayes_rule() -> None:
    """On photos drawn from the model, other objects at their mean, up to the sampling error."""
    photos, tags, shifts, Psi = draw_one_region_photos(6000, seed=0)
    rng = np.random.default_rng(1)
    standard = Projection(rng.normal(size=(4, 4)).astype(np.float32), rng.normal(size=4).astype(np.float32))
    prior = fit_photo_prior(photos, tags, np.ones((6000, 3)), standard, 5.0)
    assert prior.strength == 5.0
    rates = np.array([0.5, 0.3, 0.1])
    some = photos[:50]
    expected = np.empty((50, 3))
    for i, photo in enumerate(some):
        deviation = photo.features[0] - 3.0 - rates @ shifts
        for o in range(3):
            there = multivariate_normal((1 - rates[o]) * shifts[o], Psi).logpdf(deviation)
            absent = multivariate_normal(-rates[o] * shifts[o], Psi).logpdf(deviation)
            expected[i, o] = logit(rates[o]) + there - absent
    found = prior.score(some)
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.99
    slope = np.polyfit(expected.ravel(), found.ravel(), 1)[0]
    assert 0.7 < slope < 1.05  # the ridge shrinks it
    right = np.mean((prior.score(photos) > 0) == tags)
    assert right > np.mean((rates > 0.5) == tags) + 0.05


@pytest.mark.parametrize("objects", [np.zeros((3, 2), np.uint8), np.ones((3, 2), np.uint8), np.zeros((3, 0), np.uint8)])
def test_constant_tags_give_their_rate(objects: np.ndarray) -> None:
    photos, _, _, _ = draw_one_region_photos(3, seed=0)
    standard = Projection(np.eye(4, dtype=np.float32), np.zeros(4, np.float32))
    score = fit_photo_prior(photos, objects, np.ones(objects.shape), standard, 1.0).score(photos)
    expected = logit(np.clip(objects.mean(axis=0), RAREST, SUREST))
    assert_allclose(score, np.broadcast_to(expected, score.shape), rtol=1e-5)


def test_exclusive_factors_take_the_prior_by_bayes_rule() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(6), size=30)  # none, 3 objects, 2 free factors
    log_prior = rng.normal(size=(30, 3))
    log_odds = logit(p[:, 1:])
    adjusted = apply_photo_prior(log_odds, THREE, log_prior, exclusive=True)
    weighted = p[:, 1:4] * np.exp(log_prior)
    rest = 1 - p[:, 1:4].sum(axis=1, keepdims=True)
    expected = weighted / (weighted.sum(axis=1, keepdims=True) + rest)
    assert_allclose(expit(adjusted.objects), expected, rtol=1e-9)
    classes = np.exp(adjusted.classes - adjusted.classes.max(axis=1, keepdims=True))
    assert_allclose(
        classes / classes.sum(axis=1, keepdims=True), np.hstack([1 - expected.sum(axis=1)[:, None], expected])
    )
    unmoved = apply_photo_prior(log_odds, THREE, np.zeros((30, 3)), exclusive=True)
    assert_allclose(unmoved.objects, log_odds[:, :3], rtol=1e-9)


def test_attributes_take_nothing_from_the_probability_of_no_object() -> None:
    """They are not exclusive: a region that is surely an object may have any of them."""
    log_odds = np.array([[3.0, -6.0, 5.0, 4.0, -4.0]])
    factors = Factors(objects=2, attributes=2, free=1)
    adjusted = apply_photo_prior(log_odds, factors, np.zeros((1, 2)), exclusive=True)
    without = apply_photo_prior(log_odds[:, [0, 1, 4]], Factors(2, 0, 1), np.zeros((1, 2)), exclusive=True)
    assert_array_equal(adjusted.classes, without.classes)
    assert_allclose(adjusted.objects, log_odds[:, :2], rtol=1e-9)


def test_sizes_are_means_over_tagged_photos_shrunk_towards_the_mean() -> None:
    objects = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]], np.uint8)
    covered = np.array([[0.6, 0.1, 0.9], [0.5, 0.9, 0.9], [0.7, 0.9, 0.9], [0.9, 0.9, 0.9]])
    mean = (0.6 + 0.5 + 0.7 + 0.1) / 4
    expected = [(1.8 + 2 * mean) / 5, (0.1 + 2 * mean) / 3, mean]
    assert_allclose(average_sizes(objects, covered), expected, rtol=1e-12)


def test_a_large_object_is_more_probable_in_a_region(fitted: Predictor, world: World) -> None:
    """The size of one object multiplies its probability relative to the others by the same factor everywhere."""
    prior = fitted.parts.photo_prior
    assert prior is not None
    assert_allclose(prior.size, 4 / 24, rtol=1e-3)  # a planted object has 4 of the 24 regions
    factor = 1.7
    scaled = np.where(np.arange(OBJECTS) == 0, factor, 1.0) * prior.size
    probability = np.random.default_rng(0).uniform(0.1, 0.9, (20, OBJECTS))
    before, after = (case.compute_log_prior(probability) for case in (prior, prior._replace(size=scaled)))
    assert_allclose(before.max(axis=1), 0.0)
    gain = (after - before)[:, 0] - (after - before)[:, 1]
    assert_allclose(gain, prior.strength * SIZE_EXPONENT * np.log(factor), rtol=1e-5)


def test_log_odds_of_certain_regions_keep_their_order() -> None:
    """Of a region that is an object beyond rounding, and one that is a free factor; excluded objects stay excluded."""
    log_odds = np.array([[300.0, -310.0, -np.inf, -305.0], [-200.0, -210.0, -np.inf, 190.0]])
    adjusted = apply_photo_prior(log_odds, THREE, np.zeros((2, 3)), exclusive=True).objects
    assert_allclose(adjusted[:, :2], log_odds[:, :2], rtol=0.02)
    assert np.isneginf(adjusted[:, 2]).all()
    moved = apply_photo_prior(log_odds, THREE, np.array([[-2000.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), exclusive=True).objects
    assert moved[0, 0] < 0 < moved[0, 0] + 2000
    assert not np.isnan(moved).any()


def test_other_regions_take_the_prior_into_their_log_odds() -> None:
    log_odds = np.array([[1.0, -2.0, 7.0]])
    adjusted = apply_photo_prior(log_odds, Factors(2, 0, 1), np.array([[-0.5, 0.0]]), exclusive=False)
    assert_allclose(adjusted.objects, [[0.5, -2.0]])
    assert_allclose(adjusted.classes, [[0.0, 0.5, -2.0]])


def test_predictions_match_a_computation_by_hand(fitted: Predictor, world: World) -> None:
    assert fitted.parts.photo_prior is not None
    assert fitted.calibration.objects.photo_slope > 0
    photos = world.photos[:6]
    stacked, inference = infer_regions(fitted, photos)
    for i, posterior in enumerate(predict_photos(fitted, photos)):
        mine = inference.log_odds[stacked.groups == i].astype(np.float64)
        whole = fitted.parts.photo_prior.score(photos[i : i + 1])[0]
        assert_allclose(
            posterior.photo, fitted.calibration.objects.apply(mine[:, :OBJECTS].max(axis=0), whole), rtol=1e-5
        )
        weight = posterior.photo * fitted.parts.photo_prior.size**SIZE_EXPONENT
        log_prior = 10.0 * np.log(weight / weight.max())
        adjusted = apply_photo_prior(
            mine, fitted.parts.learned.settings.factors, np.tile(log_prior, (len(mine), 1)), exclusive=True
        )
        assert_allclose(posterior.objects, expit(adjusted.objects), rtol=1e-4, atol=1e-9)


def test_strength_zero_leaves_regions_unchanged(fitted: Predictor, world: World) -> None:
    assert fitted.parts.photo_prior is not None
    unweighted = fitted._replace(
        parts=fitted.parts._replace(photo_prior=fitted.parts.photo_prior._replace(strength=0.0))
    )
    without = fitted._replace(parts=fitted.parts._replace(photo_prior=None))
    for a, b in zip(
        predict_photos(unweighted, world.photos[:4]), predict_photos(without, world.photos[:4]), strict=True
    ):
        assert_array_equal(a.objects, b.objects)
        assert not np.array_equal(a.photo, b.photo)


def test_excluded_objects_stay_excluded(fitted: Predictor, world: World) -> None:
    allowed = Tags(np.ones((2, OBJECTS), np.uint8), np.ones_like(world.tags.attributes[:2]))
    allowed.objects[:, 1] = 0
    nothing = allowed._replace(objects=np.zeros_like(allowed.objects))
    some = list(predict_photos(fitted, world.photos[:2], allowed))
    none = list(predict_photos(fitted, world.photos[:2], nothing))
    assert len(some) == len(none) == 2
    for posterior in some:
        assert posterior.photo[1] == 0
        assert not posterior.objects[:, 1].any()
        assert posterior.objects.any()
    for posterior in none:
        assert not posterior.objects.any()
        assert not posterior.photo.any()


def test_the_prior_is_refused_together_with_region_classifiers(world: World) -> None:
    with pytest.raises(InputError, match="photo_prior 30 needs a model without region classifiers"):
        fit_photos(world.photos, world.tags, TrainOptions(photo_prior=30))
    with pytest.raises(InputError, match="photo_prior must lie between 0 and"):
        fit_photos(world.photos, world.tags, TrainOptions(photo_prior=-1.0, classifiers=False))
