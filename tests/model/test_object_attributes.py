"""Attributes of objects: enumeration of unobserved y, increasing posteriors, planted parameters, and limits."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logit
from scipy.stats import multivariate_normal

from tagsight.model.object_attributes import (
    BLOCK,
    NOISY_REGIONS,
    PRIOR_TAGS,
    Deviations,
    ObjectAttributes,
    average_objects,
    expect_own,
    find_probability,
    learn_probability,
    list_pairs,
    solve_effects,
    weigh_objects,
)
from tagsight.types import Array, Floats


def score_tags(theta: Floats, objects: Array, attributes: Array) -> float:
    """Return the log-probability of the photos' attribute tags, which `learn_probability` maximises with the prior."""
    present = objects.any(axis=1)
    lacks = objects[present].astype(np.float64) @ np.log1p(-theta)
    return float(np.sum(np.where(attributes[present] > 0, np.log(-np.expm1(lacks)), lacks)))


def draw_tags(n_photos: int, theta: Floats, *, seed: int) -> tuple[Array, Array, Array]:
    """Tags of objects, of attributes, and y (I, K_o, K_a)."""
    rng = np.random.default_rng(seed)
    objects = (rng.random((n_photos, len(theta))) < 1.5 / len(theta)).astype(np.uint8)
    y = objects[:, :, None] * (rng.random((n_photos, *theta.shape)) < theta)
    return objects, np.asarray(y.any(axis=1), np.uint8), y


def test_expected_attributes_are_those_of_an_enumeration() -> None:
    theta = np.array([[0.3, 0.9], [0.6, 0.2], [0.1, 0.5]])
    objects = np.array([[1, 1, 1], [0, 1, 0], [1, 0, 1]], np.uint8)
    attributes = np.array([[1, 0], [1, 1], [0, 1]], np.uint8)
    pairs = list_pairs(objects)
    found = expect_own(theta, pairs, attributes)
    for row, (i, o) in enumerate(zip(*pairs, strict=True)):
        there = np.flatnonzero(objects[i])
        for a in range(2):
            weights = {
                y: np.prod([theta[k, a] if own else 1 - theta[k, a] for k, own in zip(there, y, strict=True)])
                for y in itertools.product([0, 1], repeat=len(there))
                if any(y) == bool(attributes[i, a])
            }
            place = list(there).index(o)
            expected = sum(w for y, w in weights.items() if y[place]) / sum(weights.values())
            assert found[row, a] == pytest.approx(expected)
    here = attributes > 0
    expected_score = sum(
        np.log(1 - np.prod(1 - theta[objects[i] > 0, a]) if here[i, a] else np.prod(1 - theta[objects[i] > 0, a]))
        for i in range(3)
        for a in range(2)
    )
    assert score_tags(theta, objects, attributes) == pytest.approx(expected_score)


def log_posterior(theta: Floats, objects: Array, attributes: Array) -> float:
    usual = attributes[objects.any(axis=1)].sum(axis=0) / objects.sum()
    prior = PRIOR_TAGS * np.sum(usual * np.log(theta) + (1 - usual) * np.log1p(-theta))
    return score_tags(theta, objects, attributes) + float(prior)


def test_the_probabilities_found_are_the_most_probable_ones() -> None:
    truth = np.random.default_rng(0).uniform(0.05, 0.9, (5, 4))
    objects, attributes, _ = draw_tags(300, truth, seed=1)
    theta = learn_probability(objects, attributes)
    best = log_posterior(theta, objects, attributes)
    for o, a in itertools.product(range(5), range(4)):
        for step in (-0.01, 0.01):
            moved = theta.copy()
            moved[o, a] += step
            assert log_posterior(moved, objects, attributes) < best


def test_planted_probabilities_are_found_where_objects_share_photos() -> None:
    truth = np.random.default_rng(0).uniform(0.05, 0.9, (6, 8))
    objects, attributes, _ = draw_tags(6000, truth, seed=2)
    theta = learn_probability(objects, attributes)
    assert np.abs(theta - truth).max() < 0.06
    shares = objects.T.astype(float) @ attributes / objects.sum(axis=0)[:, None]
    assert np.abs(shares - truth).max() > 0.2  # shares of photos with both tags overestimate theta


def test_probabilities_may_be_those_of_shared_photos_or_equal() -> None:
    objects, attributes, _ = draw_tags(400, np.random.default_rng(0).uniform(0.05, 0.9, (5, 4)), seed=1)
    n_photos, shared = objects.sum(axis=0)[:, None], objects.T.astype(float) @ attributes
    rate = attributes[objects.any(axis=1)].sum(axis=0) / objects.sum()
    by_tags = (shared + PRIOR_TAGS * rate) / (n_photos + PRIOR_TAGS)
    assert_allclose(find_probability(objects, attributes, "tags"), by_tags)
    assert_allclose(find_probability(objects, attributes, "equal"), np.tile(rate, (5, 1)))
    assert_allclose(find_probability(objects, attributes, "learned"), learn_probability(objects, attributes))


def test_blocks_of_photos_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    from tagsight.model import object_attributes

    objects, attributes, _ = draw_tags(200, np.full((4, 3), 0.4), seed=3)
    whole = learn_probability(objects, attributes)
    assert BLOCK > 200
    monkeypatch.setattr(object_attributes, "BLOCK", 7)
    assert_allclose(learn_probability(objects, attributes), whole, rtol=0, atol=1e-9)


@pytest.mark.parametrize("photos", [0, 3])
def test_without_objects_or_attributes_there_is_nothing_to_learn(photos: int) -> None:
    nothing = learn_probability(np.zeros((photos, 4), np.uint8), np.ones((photos, 2), np.uint8))
    assert nothing.shape == (4, 2)
    assert ((nothing > 0) & (nothing < 1)).all()
    assert learn_probability(np.ones((photos, 4), np.uint8), np.zeros((photos, 0), np.uint8)).shape == (4, 0)
    empty = solve_effects(nothing, Deviations.none(2, 5))
    assert not empty.weigh(np.ones((3, 5)), np.array([0, 1, 3])).any()


def test_planted_effects_are_found_and_objects_keep_their_appearance() -> None:
    rng = np.random.default_rng(0)
    theta, effect = rng.uniform(0.1, 0.9, (4, 3)), rng.normal(size=(3, 6))
    objects, attributes, y = draw_tags(8000, theta, seed=4)
    pairs = list_pairs(objects)
    own = y[pairs.photos, pairs.objects] - theta[pairs.objects]
    deviation = own @ effect + 0.3 * rng.normal(size=(len(own), 6))
    expected = expect_own(theta, pairs, attributes) - theta[pairs.objects]
    half = len(own) // 2
    sums = Deviations.none(3, 6)
    for part in (slice(0, half), slice(half, None)):
        sums = sums.add(expected[part], deviation[part], np.ones(len(own[part])))
    found = solve_effects(theta, sums)
    assert np.abs(found.effect - effect).max() < 0.15
    truth, score = y[pairs.photos, pairs.objects], found.weigh(deviation, pairs.objects)
    both = score + found.prior_log_odds[pairs.objects]
    assert np.mean((both > 0) == truth) > np.mean((found.prior_log_odds[pairs.objects] > 0) == truth) + 0.1


def test_small_objects_count_less() -> None:
    one = Deviations.none(1, 2).add(np.ones((1, 1)), np.ones((1, 2)), weigh_objects(np.array([NOISY_REGIONS])))
    assert one.weight == 0.5
    assert_allclose(one.cross, 0.5)


def test_evidence_is_a_ratio_of_two_normal_densities() -> None:
    rng = np.random.default_rng(0)
    theta, effect = np.array([[0.2, 0.7], [0.5, 0.4]]), rng.normal(size=(2, 3))
    root = rng.normal(size=(3, 3))
    Psi = root @ root.T + np.eye(3)
    one = ObjectAttributes(theta, effect, effect @ np.linalg.inv(Psi))
    deviation, objects = rng.normal(size=(4, 3)), np.array([0, 1, 1, 0])
    for row, o in enumerate(objects):
        for a in range(2):
            there = multivariate_normal(effect[a] * (1 - theta[o, a]), Psi).logpdf(deviation[row])
            absent = multivariate_normal(-effect[a] * theta[o, a], Psi).logpdf(deviation[row])
            assert one.weigh(deviation, objects)[row, a] == pytest.approx(there - absent)
    assert_allclose(one.prior_log_odds, logit(theta))


def test_the_mean_of_an_object_is_of_its_regions() -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [4.0, 4.0]])
    log_odds = np.array([[50.0, -900.0], [50.0, -800.0], [-50.0, -900.0]])
    log_odds = np.hstack([log_odds, np.full((3, 1), -np.inf)])  # certain, unlikely everywhere, barred
    mean, n_regions = average_objects(X, log_odds)
    assert_allclose(mean[:2], [[0.5, 0.5], [0.0, 1.0]], atol=1e-12)
    assert np.isfinite(mean).all()
    assert_allclose(n_regions, [2.0, 0.0, 0.0], atol=1e-12)
