"""Scores of the regions of new photos, whose tags are unknown."""

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from tagsight.classifiers.attributes import (
    AttributeClassifier,
    describe_photo,
    predict_attributes,
    score_attribute_likelihood,
)
from tagsight.classifiers.regions import EmbeddedRegions, find_height_bands, pool_features
from tagsight.classifiers.regression import Linear
from tagsight.classifiers.smoothing import (
    add_attribute_distance,
    adjust_smoothing,
    compute_appearance_distance,
    smooth_scores,
)
from tagsight.types import Array, Floats


class ClassifierWeights(NamedTuple):
    """Weights of the parts of a region's score, chosen on training photos; 0 leaves a part out."""

    model: float = 0.1  # the model's log-odds in localisation; small, since they count correlated features repeatedly
    smoothing: float = 0.85  # smoothing strength on the similarity graph
    attribute_distance: float = 0.3  # share of attributes in the distance of regions; appearance has the rest
    attribute_likelihood: float = 0.4  # the likelihood of the region's attributes under each object
    height: float = 0.5  # the height prior
    photo_classifier: float = 0.5  # the photo classifier's log-odds, where negative
    attribute_prior: float = 0.5  # the log-odds of P(a | o)


class RegionClassifiers(NamedTuple):
    """The fitted classifiers that `score_regions` combines."""

    photo_classifier: Linear  # mean scaled features of a photo -> log-odds of its objects
    objects: Linear  # embedding of a region -> scores of background and objects
    attributes: AttributeClassifier
    height_prior: Array  # (1 + K_o, BANDS) log ratios
    weights: ClassifierWeights
    background: float  # share of the training regions with the pseudo-label background
    bias: float = 0.0  # added to the background's score


class RegionScores(NamedTuple):
    """Scores of the N regions of I photos."""

    classes: Floats  # (N, 1 + K_o) smoothed log-probabilities of background and objects, up to a constant per region
    unsmoothed: Floats  # (N, 1 + K_o) the same before smoothing
    attributes: Floats  # (N, K_a) log-odds
    attributes_by_object: Floats  # (I, K_o, K_a) log-odds of the attributes of each object, given that it is there
    photo: Floats  # (I, K_o) log-odds of the objects by the photo classifier

    @property
    def object_probability(self) -> Floats:
        """(N, K_o) unsmoothed probability of each object."""
        return softmax(self.unsmoothed, axis=1)[:, 1:]

    @property
    def objects(self) -> Floats:
        """(N, K_o) unsmoothed log-odds of each object against all other classes."""
        log_probability = log_softmax(self.unsmoothed, axis=1)[:, 1:]
        return log_probability - np.log(-np.expm1(np.minimum(log_probability, -1e-12)))

    @property
    def margin(self) -> Floats:
        """(N,) smoothed score of the best object minus the background's."""
        return self.classes[:, 1:].max(axis=1, initial=-np.inf) - self.classes[:, 0]


def score_regions(
    regions: EmbeddedRegions, classifiers: RegionClassifiers, allowed: Array | None = None
) -> RegionScores:
    """Scores of regions by all classifiers together.

    The score of an object adds up the object classifier, the attribute likelihood, the height prior and, where
    negative, the photo classifier. These scores are then smoothed over the similarity graph, which improves the
    outlines of objects. Attributes use the scores before smoothing, which are better at finding the most
    probable region of an object. With `allowed` (I, K_o), other objects are excluded from each photo.
    """
    n_regions, n_classes = len(regions.X), classifiers.objects.weights.shape[1]
    n_attributes = classifiers.attributes.prior_log_odds.shape[1]
    weights = classifiers.weights
    smoothing = adjust_smoothing(weights.smoothing, weights.attribute_distance if n_attributes else 0.0)
    classes, unsmoothed = np.empty((n_regions, n_classes)), np.empty((n_regions, n_classes))
    attributes = np.empty((n_regions, n_attributes))
    attributes_by_object = np.empty((len(regions.photos), n_classes - 1, n_attributes))
    photo = np.empty((len(regions.photos), n_classes - 1))
    for i, (rows, area, scaled_features) in enumerate(regions.iterate_photos()):
        X = regions.X[rows]
        attribute_probability = predict_attributes(classifiers.attributes, X)
        photo[i] = classifiers.photo_classifier.score(pool_features(area, scaled_features))
        bands = find_height_bands(regions.photos[i].labels, len(X))
        unsmoothed[rows] = _score_classes(classifiers, X, attribute_probability, bands, photo[i])
        distance = add_attribute_distance(
            compute_appearance_distance(X), attribute_probability, weights.attribute_distance
        )
        classes[rows] = smooth_scores(unsmoothed[rows], distance, area, smoothing)
        if allowed is not None:
            for scores in (classes, unsmoothed):
                scores[rows, 1:] = np.where(allowed[i], scores[rows, 1:], -np.inf)
        object_probability = softmax(unsmoothed[rows], axis=1)[:, 1:]
        attributes[rows], attributes_by_object[i] = describe_photo(classifiers.attributes, X, object_probability, area)
    return RegionScores(classes, unsmoothed, attributes, attributes_by_object, photo)


def _score_classes(
    classifiers: RegionClassifiers, X: Array, attribute_probability: Array, bands: Array, photo_log_odds: Floats
) -> Array:
    """(R, 1 + K_o) scores of the regions of one photo before smoothing."""
    weights = classifiers.weights
    scores = classifiers.objects.score(X) + weights.attribute_likelihood * score_attribute_likelihood(
        classifiers.attributes, attribute_probability
    )
    scores += weights.height * classifiers.height_prior[:, bands].T
    photo_term = weights.photo_classifier * np.minimum(photo_log_odds, 0.0).astype(np.float32)
    return np.hstack([scores[:, :1] + np.float32(classifiers.bias), scores[:, 1:] + photo_term])
