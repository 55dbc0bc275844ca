"""Attributes of the objects of photos (see `model.object_attributes`), from the posterior of their regions."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from tagsight.classifiers.calibration import Calibration
from tagsight.engine.inference import FittedModel
from tagsight.model.object_attributes import ObjectAttributes, average_objects
from tagsight.types import Array, Floats, Ints

SUM_CALIBRATION = Calibration(1.0, 0.0, None, 1.0)  # evidence plus prior log-odds, where no photos are held out
SMALLEST_PROBABILITY = 1e-12


class ObjectDeviations(NamedTuple):
    """The deviation of each object in one photo from its appearance, whether it is in the photo or not."""

    deviation: Floats  # (K_o, D) mean vector of the object's regions minus its appearance
    n_regions: Floats  # (K_o,) expected number of regions


def compute_deviations(appearance: Floats, X: Array, log_odds: Array) -> ObjectDeviations:
    """The deviations in one photo, from vectors (R, D) and log-odds (R, K) of its regions; `appearance` is (K_o, D)."""
    mean, n_regions = average_objects(X, log_odds[:, : len(appearance)])
    return ObjectDeviations(mean - appearance, n_regions)


def split_by_photo(groups: Ints, *arrays: Array) -> Iterator[tuple[Array, ...]]:
    """The rows of each photo; photos are numbered from 0 in `groups`, ascending, and each has regions."""
    ends = np.flatnonzero(np.diff(groups)) + 1
    yield from zip(*(np.split(array, ends) for array in arrays), strict=True)


def weigh_attributes(attributes: ObjectAttributes, appearance: Floats, X: Array, log_odds: Array) -> Floats:
    """(K_o, K_a) log-likelihood ratios of the attributes of each object, given one photo's regions."""
    deviation = compute_deviations(appearance, X, log_odds).deviation
    return attributes.weigh(deviation, np.arange(len(appearance)))


class AttributeProbabilities(NamedTuple):
    """Calibrated probabilities of attributes in one photo."""

    attributes_by_object: Floats  # (K_o, K_a) P(the object has the attribute)
    by_region: Floats  # (R, K_a) P(the region is an object with the attribute)


def describe_objects(
    attributes: ObjectAttributes, calibration: Calibration, appearance: Floats, X: Array, log_odds: Array
) -> AttributeProbabilities:
    """The attributes in one photo, from its regions' vectors (R, D) and log-odds (R, K)."""
    evidence = weigh_attributes(attributes, appearance, X, log_odds)
    attributes_by_object = calibration.apply(evidence, attributes.prior_log_odds)
    probability = expit(log_odds[:, : len(attributes_by_object)].astype(np.float64))
    return AttributeProbabilities(attributes_by_object, np.clip(probability @ attributes_by_object, 0.0, 1.0))


def describe_parts(
    attributes: ObjectAttributes, calibration: Calibration, appearance: Floats, X: Array, log_odds: Array, parts: Floats
) -> Floats:
    """(P, K_a) calibrated probabilities of the attributes of P parts of one photo; `parts` (P, R) weighs its regions.

    A part is one of the objects, with the probabilities of its regions; its vector is the mean of its regions, weighted
    by the probability that they are objects.
    """
    objects = log_odds[:, : len(appearance)].astype(np.float64)
    which = parts @ expit(objects) + SMALLEST_PROBABILITY
    which /= which.sum(axis=1, keepdims=True)
    any_object = log_expit(objects).max(axis=1)
    weight = parts * np.exp(any_object - any_object.max())
    mean = weight @ X / np.maximum(weight.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    described = np.zeros((len(parts), attributes.probability.shape[1]))
    for o, phi in enumerate(appearance):
        evidence = attributes.weigh(mean - phi, np.full(len(parts), o))
        described += which[:, [o]] * calibration.apply(evidence, attributes.prior_log_odds[o])
    return described


def complete_counts(attributes: ObjectAttributes, learned: FittedModel) -> tuple[Floats, Floats]:
    """(K,) training regions in which each factor is on, and (K, K) in which pairs are; attributes follow their objects.

    Attributes are taken to be independent given their object.
    """
    objects, n_attributes, _ = learned.settings.factors
    theta, here = attributes.probability, slice(objects, objects + n_attributes)
    count, pair = learned.summary.count.copy(), learned.summary.pair.copy()
    with_object = count[:objects, None] * theta
    count[here] = with_object.sum(axis=0)
    pair[:objects, here], pair[here, :objects] = with_object, with_object.T
    pair[here, here] = theta.T @ with_object
    np.fill_diagonal(pair[here, here], count[here])
    return count, pair
