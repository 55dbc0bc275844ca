"""Read the regions of new photos, tags unknown."""

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from tagsight.classifiers.attributes import describe_photo, predict_attributes, score_attribute_likelihood
from tagsight.classifiers.fit import RegionClassifiers
from tagsight.classifiers.height_prior import find_height_bands
from tagsight.classifiers.regions import Regions, pool_photo
from tagsight.classifiers.smoothing import (
    add_attribute_distance,
    adjust_smoothing,
    measure_appearance_distance,
    smooth_scores,
)
from tagsight.types import Array, Floats


class RegionScores(NamedTuple):
    """Scores of the regions of many photos."""

    classes: Floats  # (N, 1 + K_o) log-probability, up to a constant, of background and objects, one a region
    own: Floats  # (N, 1 + K_o) the same before it was shared among kin
    attributes: Floats  # (N, K_a) log-odds
    attributes_by_object: Floats  # (I, K_o, K_a) log-odds of the attributes of each object, wherever in the photo it is
    whole: Floats  # (I, K_o) what each photo as a whole says of the objects: log-odds of the cue

    @property
    def shares(self) -> Floats:
        """(N, K_o) probability of each object, by what regions say for themselves."""
        return softmax(self.own, axis=1)[:, 1:]

    @property
    def objects(self) -> Floats:
        """(N, K_o) log-odds of each object against all else, by what regions say for themselves."""
        log_share = log_softmax(self.own, axis=1)[:, 1:]
        return log_share - np.log(-np.expm1(np.minimum(log_share, -1e-12)))

    @property
    def margin(self) -> Floats:
        """(N,) score of the best object above the background's."""
        return self.classes[:, 1:].max(axis=1, initial=-np.inf) - self.classes[:, 0]


def score_regions(regions: Regions, classifiers: RegionClassifiers, allowed: Array | None = None) -> RegionScores:
    """What the readers say.

    Objects by their looks and by what they are like, less what the photo doubts, shared among kin, which look alike
    and are described alike. Kin tell where an object ends, not where it is clearest: attributes are of what regions say
    for themselves.
    Where `allowed` (I, K_o) is given, no region of a photo is an object that it bars.
    """
    n_regions, n_classes = len(regions.X), classifiers.objects.weights.shape[1]
    n_attributes = classifiers.attributes.prior_log_odds.shape[1]
    weights = classifiers.weights
    smoothing = adjust_smoothing(weights.smoothing, weights.attribute_distance if n_attributes else 0.0)
    classes, own = np.empty((n_regions, n_classes)), np.empty((n_regions, n_classes))
    attributes = np.empty((n_regions, n_attributes))
    attributes_by_object = np.empty((len(regions.photos), n_classes - 1, n_attributes))
    whole = np.empty((len(regions.photos), n_classes - 1))
    for i, (rows, area, strengths) in enumerate(regions.each_photo()):
        X = regions.X[rows]
        attribute_probability = predict_attributes(classifiers.attributes, X)
        scores = classifiers.objects.score(X) + weights.attribute_likelihood * score_attribute_likelihood(
            classifiers.attributes, attribute_probability
        )
        bands = find_height_bands(regions.photos[i].labels, len(X))
        scores += weights.height * classifiers.height_prior[:, bands].T
        whole[i] = classifiers.photo_classifier.score(pool_photo(area, strengths))
        photo_classifier = np.minimum(whole[i], 0.0).astype(np.float32)
        own[rows] = np.hstack(
            [scores[:, :1] + np.float32(classifiers.bias), scores[:, 1:] + weights.photo_classifier * photo_classifier]
        )
        distance = add_attribute_distance(
            measure_appearance_distance(X), attribute_probability, weights.attribute_distance
        )
        classes[rows] = smooth_scores(own[rows], distance, area, smoothing)
        if allowed is not None:
            for some in (classes, own):
                some[rows, 1:] = np.where(allowed[i], some[rows, 1:], -np.inf)
        share = softmax(own[rows], axis=1)[:, 1:]
        attributes[rows], attributes_by_object[i] = describe_photo(classifiers.attributes, X, share, area)
    return RegionScores(classes, own, attributes, attributes_by_object, whole)
