"""Attributes of the objects of photos (see `model.object_attributes`), from regions that the model has looked at."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from tagsight.classifiers.calibration import Calibration
from tagsight.engine.inference import FittedModel
from tagsight.model.object_attributes import ObjectAttributes, average_objects
from tagsight.types import Array, Floats, Ints

AS_MODELLED = Calibration(1.0, 0.0, None, 1.0)  # evidence plus prior, where there is nothing to calibrate on
SMALLEST_PROBABILITY = 1e-12  # probability


class SeenObjects(NamedTuple):
    """Every object in one photo, there or not."""

    deviation: Floats  # (K_o, D) of each object's mean from its appearance
    n_regions: Floats  # (K_o,)


def find_deviations(appearance: Floats, X: Array, log_odds: Array) -> SeenObjects:
    """From the objects' appearance (K_o, D), and vectors (R, D) and log-odds (R, K) of the photo's regions."""
    mean, n_regions = average_objects(X, log_odds[:, : len(appearance)])
    return SeenObjects(mean - appearance, n_regions)


def split_photos(groups: Ints, *arrays: Array) -> Iterator[tuple[Array, ...]]:
    """The rows of each photo, where photos are numbered from 0 in `groups`, ascending, each with regions."""
    ends = np.flatnonzero(np.diff(groups)) + 1
    yield from zip(*(np.split(array, ends) for array in arrays), strict=True)


def weigh_attributes(attributes: ObjectAttributes, appearance: Floats, X: Array, log_odds: Array) -> Floats:
    """(K_o, K_a) log-odds that one photo's regions add to what is known of its objects."""
    deviation = find_deviations(appearance, X, log_odds).deviation
    return attributes.weigh(deviation, np.arange(len(appearance)))


class Described(NamedTuple):
    """Probabilities, calibrated, in one photo."""

    attributes_by_object: Floats  # (K_o, K_a) the object has the attribute
    of_regions: Floats  # (R, K_a) the region has it: it is an object that does


def describe_objects(
    attributes: ObjectAttributes, calibration: Calibration, appearance: Floats, X: Array, log_odds: Array
) -> Described:
    """Of one photo, from its regions' vectors (R, D) and log-odds (R, K)."""
    evidence = weigh_attributes(attributes, appearance, X, log_odds)
    attributes_by_object = calibration.apply(evidence, attributes.prior_odds)
    shares = expit(log_odds[:, : len(attributes_by_object)].astype(np.float64))
    return Described(attributes_by_object, np.clip(shares @ attributes_by_object, 0.0, 1.0))


def describe_parts(
    attributes: ObjectAttributes, calibration: Calibration, appearance: Floats, X: Array, log_odds: Array, parts: Floats
) -> Floats:
    """(P, K_a) probabilities, calibrated, that parts of one photo, weights of its regions (P, R), have each attribute.

    A part is one of the objects, each as likely as its regions say; its mean is that of its regions that are objects.
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
        described += which[:, [o]] * calibration.apply(evidence, attributes.prior_odds[o])
    return described


def complete_counts(attributes: ObjectAttributes, learned: FittedModel) -> tuple[Floats, Floats]:
    """Regions (K,) in which each factor is on in training, and in which two are (K, K), attributes with their objects.

    Given their object, attributes are taken to be independent.
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
