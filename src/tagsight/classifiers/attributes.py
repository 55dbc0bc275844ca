"""Attribute classifiers, trained on located objects and the attribute tags of their photos.

**Training.** Each located object of a training photo is a bag of regions (`bags`), since one region with a wheel is
enough to give an object wheels. The target of an attribute tagged in the photo is 1 for the object of the photo that
supports it most (`attribute_prior`), and lower for the other objects, in proportion to their support. The remaining
regions of a photo are a bag without attributes.

**Prediction.** In a new photo, region j is object o with probability p_jo before smoothing, and has the area a_j. The
log-odds of the attributes are

    of a region alone      s_j = x_j W + b
    of object o            A_o = log sum_j w_jo exp(s_j) + u_o,        w_jo = p_jo a_j / sum_m p_mo a_m
    of a region            sum_o p_jo A_o + (1 - sum_o p_jo) (s_j + u_0)

u_o is `ClassifierWeights.attribute_prior` times the log-odds of the attribute prior P(a | o), estimated from the
located training objects with shrinkage (`attribute_prior.shrink_rates`); u_0 is that of background.

**Attribute likelihood.** The attribute probabilities of a region, q = sigmoid(LOGIT_SCALE s) (`predict_attributes`),
are evidence of its object (`score_attribute_likelihood`) and of its similarity to other regions (`smoothing`):

    e_jo = sum_a  q_ja log P(a | o) + (1 - q_ja) log (1 - P(a | o))

is the expected log-probability of the region's attributes in object o, where o = 0 is background. P(a | o) is the
observed frequency here, without shrinkage, which would make rare objects alike. Each attribute is learned from all
objects that have it, so common objects help to recognise rare ones.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logit

from tagsight.classifiers.attribute_prior import estimate_attribute_support, shrink_rates
from tagsight.classifiers.bags import Bags, fit_bag_classifiers, pool_parts
from tagsight.classifiers.regression import Linear
from tagsight.classifiers.rows import BlockedRows, enumerate_blocks
from tagsight.data.vocabulary import Tags
from tagsight.types import Array, Floats, Ints

PENALTY = 0.5  # on the weights, for unit vectors; divided by the number of bags
LOGIT_SCALE = 0.5  # of log-odds in the attribute likelihood: bag classifiers are overconfident about single regions
MIN_SUPPORT = 0.02  # added to the attribute support, so that every tagged attribute has an object
MIN_PRIOR = 0.005  # P(a | o) is clipped to [MIN_PRIOR, 1 - MIN_PRIOR]


class AttributeClassifier(NamedTuple):
    """Attribute classifiers of regions, and the attribute prior of each object."""

    regions: Linear  # embedding of a region -> log-odds of attributes
    observed_log_odds: Array  # (1 + K_o, K_a) float32 log-odds of P(a | o) in background and each located object
    prior_log_odds: Array  # (1 + K_o, K_a) float32 u, added to the log-odds of background and each object


class AttributeLogOdds(NamedTuple):
    """Log-odds of the attributes in one photo."""

    regions: Floats  # (R, K_a)
    objects: Floats  # (K_o, K_a) of each object, given that it is in the photo


class LabelledRegions(NamedTuple):
    """Photo, label and area of regions, in the order of the photos."""

    photo: Array  # (N,)
    label: Array  # (N,) 0 background, 1.. objects
    area: Floats  # (N,) share of the photo


class LabelledBags:
    """The regions of each label in each photo as a bag, in the blocks of `rows`."""

    def __init__(self, rows: BlockedRows, regions: LabelledRegions):
        self._rows = rows
        n_labels = int(regions.label.max()) + 1
        key = regions.photo.astype(np.int64) * n_labels + regions.label
        self._order = np.argsort(key, kind="stable")
        bag_keys, first = np.unique(key[self._order], return_index=True)
        self.photo, self.label = np.divmod(bag_keys, n_labels)
        self._first = np.append(first, len(key))
        del key
        self._share = regions.area[self._order].astype(np.float32)
        self._share /= np.repeat(np.add.reduceat(self._share, first), np.diff(self._first))

    def __iter__(self) -> Iterator[Bags]:
        for span, X in enumerate_blocks(self._rows):
            start, stop = np.searchsorted(self._first, [span.start, span.stop])
            yield Bags(X[self._order[span] - span.start], self._share[span], self._first[start : stop + 1] - span.start)


def fit_attribute_classifier(
    rows: BlockedRows, regions: LabelledRegions, tags: Tags, prior_weight: float
) -> AttributeClassifier:
    """Attribute classifiers from unit vectors (N, d) of labelled regions, in blocks of whole photos.

    The log-odds of the attribute prior are multiplied by `prior_weight`.
    """
    n_objects, n_attributes = tags.objects.shape[1], tags.attributes.shape[1]
    bags = LabelledBags(rows, regions)
    photo, label = bags.photo, bags.label
    located, object_of = label > 0, label[label > 0] - 1
    targets = np.zeros((len(label), n_attributes), np.float32)
    targets[located] = _assign_attributes(tags, photo[located], object_of)
    equal = np.broadcast_to(1.0 / len(targets), targets.shape)
    fitted = fit_bag_classifiers(bags, rows.shape[1], targets, equal, PENALTY / len(targets))
    count = np.zeros((n_objects, n_attributes))
    np.add.at(count, object_of, targets[located])
    n_located = np.bincount(object_of, minlength=n_objects)
    observed = (count + count.sum(axis=0) / max(len(object_of), 1)) / (n_located[:, None] + 1.0)
    prior = np.float32(prior_weight) * _clipped_log_odds(shrink_rates(count, n_located))
    return AttributeClassifier(fitted, _clipped_log_odds(observed), prior)


def _clipped_log_odds(attributes_by_object: Floats) -> Array:
    """(1 + K_o, K_a) float32 log-odds of P(a | o) (K_o, K_a), preceded by background without attributes."""
    rates = np.vstack([np.zeros(attributes_by_object.shape[1]), attributes_by_object])
    return logit(np.clip(rates, MIN_PRIOR, 1.0 - MIN_PRIOR)).astype(np.float32)


def predict_attributes(classifier: AttributeClassifier, X: Array) -> Array:
    """(N, K_a) attribute probabilities q of regions X (N, d)."""
    return expit(LOGIT_SCALE * classifier.regions.score(X))


def score_attribute_likelihood(classifier: AttributeClassifier, attribute_probability: Array) -> Array:
    """(N, 1 + K_o) e, the log-likelihood of `attribute_probability` (N, K_a) under background and each object."""
    return (
        attribute_probability @ log_expit(classifier.observed_log_odds).T
        + (1.0 - attribute_probability) @ log_expit(-classifier.observed_log_odds).T
    )


def describe_photo(
    classifier: AttributeClassifier, X: Array, object_probability: Floats, area: Floats
) -> AttributeLogOdds:
    """Attributes in a photo with vectors X (R, d), `object_probability` (R, K_o) and `area` (R,)."""
    alone = classifier.regions.score(X).astype(np.float64)
    weight = object_probability * area[:, None]
    weight = weight / np.maximum(weight.sum(axis=0), np.finfo(np.float64).tiny)
    objects = pool_parts(alone, weight.T) + classifier.prior_log_odds[1:]
    background = 1.0 - object_probability.sum(axis=1, keepdims=True)
    regions = object_probability @ objects + background * (alone + classifier.prior_log_odds[0])
    return AttributeLogOdds(regions, objects)


def describe_parts(classifier: AttributeClassifier, X: Array, object_probability: Floats, weight: Floats) -> Floats:
    """(B, K_a) log-odds of the attributes in each of B parts of a photo, such as boxes.

    `weight` (B, R) is the fraction of each part that a region covers. Regions count in proportion to their probability
    of being any object, and the attribute prior is that of the objects in the part.
    """
    object_weight = weight * np.maximum(object_probability.sum(axis=1), np.finfo(np.float64).eps)
    object_weight = object_weight / object_weight.sum(axis=1, keepdims=True)
    objects = object_weight @ object_probability
    objects = objects / np.maximum(objects.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    pooled = pool_parts(classifier.regions.score(X).astype(np.float64), object_weight)
    return pooled + objects @ classifier.prior_log_odds[1:]


def _assign_attributes(tags: Tags, photo: Ints, object_of: Ints) -> Floats:
    """(n, K_a) targets of the located objects `object_of` (n,) in photos `photo` (n,)."""
    support = estimate_attribute_support(tags.objects, tags.attributes) + MIN_SUPPORT
    best = np.stack([support[tagged].max(axis=0, initial=MIN_SUPPORT) for tagged in tags.objects.astype(bool)])
    return tags.attributes[photo] * support[object_of] / best[photo]
