"""What objects are like: a reader of attributes, taught by located objects and the tags of their photos.

Each located object of a training photo is a bag of regions (`bags`): one region with a wheel is enough. It has the
photo's attributes as far as they are its own: of the objects of a photo, the one that goes best with attribute a
(`binding`) has it; the others have it by how well they go with it beside that one. What is left of a photo is a bag
that has none.

In a new photo, region j is object o with probability p_jo by what it says for itself, before its kin are asked, and has
the area a_j. The log-odds of the attributes are

    of a region alone      s_j = x_j W + b
    of object o            A_o = log sum_j w_jo exp(s_j) + u_o,        w_jo = p_jo a_j / sum_m p_mo a_m
    of a region            sum_o p_jo A_o + (1 - sum_o p_jo) (s_j + u_0)

u_o is the prior of object o: `ClassifierWeights.attribute_prior` times the log-odds of the attributes among the
located training objects o, shrunk towards their mean where objects differ no more than by chance (`shares`). u_0 is
the prior of background. The attribute probabilities of a region, q = sigmoid(CALM s) (`predict_attributes`), are
evidence of its object (`score_attribute_likelihood`) and of its similarity to other regions (`smoothing`):

    e_jo = sum_a  q_ja log P(a | o) + (1 - q_ja) log (1 - P(a | o))

is the expected log-probability of its attributes in object o, o = 0 being background, with P(a | o) as it was seen.
(Drawn together, objects that are rare would be likened to all others.) An attribute is learned from all objects that
have it, so it knows of a rare object what common ones taught it.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logit

from tagsight.classifiers.bags import Bags, pool_odds, train_pooled
from tagsight.classifiers.binding import bind_attributes
from tagsight.classifiers.regression import Linear
from tagsight.classifiers.rows import Rows, number_blocks
from tagsight.classifiers.shares import shrink_shares
from tagsight.data.vocabulary import Tags
from tagsight.types import Array, Floats, Ints

PRIOR = 0.5  # precision of the weights, on unit vectors
CALM = 0.5  # of log-odds in likeness: a reader taught by bags is too sure of each region
FAINT = 0.02  # P(attribute | object) that no tag is denied
RARE = 0.005  # the least that is usual


class AttributeClassifier(NamedTuple):
    """What reads attributes."""

    regions: Linear  # directions of a region -> attributes
    observed_log_odds: Array  # (1 + K_o, K_a) float32 log-odds among background and each located training object
    prior_log_odds: Array  # (1 + K_o, K_a) float32 added to the log-odds of what is background, or that object


class Described(NamedTuple):
    """Log-odds of the attributes in one photo."""

    regions: Floats  # (R, K_a)
    objects: Floats  # (K_o, K_a) wherever the object is, if it is


class LabelledRegions(NamedTuple):
    """Where regions are, and what: photo after photo."""

    photo: Array  # (N,)
    label: Array  # (N,) 0 background, 1.. objects
    area: Floats  # (N,) share of the photo


class LabelledBags:
    """The regions of one label in one photo as a bag, in the blocks that `rows` come in."""

    def __init__(self, rows: Rows, places: LabelledRegions):
        self._rows = rows
        n_labels = int(places.label.max()) + 1
        key = places.photo.astype(np.int64) * n_labels + places.label
        self._order = np.argsort(key, kind="stable")
        owner, first = np.unique(key[self._order], return_index=True)
        self.photo, self.label = np.divmod(owner, n_labels)
        self._first = np.append(first, len(key))
        del key
        self._share = places.area[self._order].astype(np.float32)
        self._share /= np.repeat(np.add.reduceat(self._share, first), np.diff(self._first))

    def __iter__(self) -> Iterator[Bags]:
        for here, X in number_blocks(self._rows):
            start, stop = np.searchsorted(self._first, [here.start, here.stop])
            yield Bags(X[self._order[here] - here.start], self._share[here], self._first[start : stop + 1] - here.start)


def fit_attributes(rows: Rows, places: LabelledRegions, tags: Tags, attribute_prior: float) -> AttributeClassifier:
    """A reader taught by vectors of regions (N, d), in blocks of whole photos, and where they are.

    What is usual counts by `attribute_prior`.
    """
    n_objects, n_attributes = tags.objects.shape[1], tags.attributes.shape[1]
    bags = LabelledBags(rows, places)
    photo, label = bags.photo, bags.label
    located, which = label > 0, label[label > 0] - 1
    targets = np.zeros((len(label), n_attributes), np.float32)
    targets[located] = _share_tags(tags, photo[located], which)
    alike = np.broadcast_to(1.0 / len(targets), targets.shape)
    reader = train_pooled(bags, rows.shape[1], targets, alike, PRIOR / len(targets))
    count = np.zeros((n_objects, n_attributes))
    np.add.at(count, which, targets[located])
    n_located = np.bincount(which, minlength=n_objects)
    observed_log_odds = _weigh_odds((count + count.sum(axis=0) / max(len(which), 1)) / (n_located[:, None] + 1.0))
    return AttributeClassifier(
        reader, observed_log_odds, np.float32(attribute_prior) * _weigh_odds(shrink_shares(count, n_located))
    )


def _weigh_odds(attributes_by_object: Floats) -> Array:
    """(1 + K_o, K_a) float32 log-odds: background has no attributes."""
    shares = np.vstack([np.zeros(attributes_by_object.shape[1]), attributes_by_object])
    return logit(np.clip(shares, RARE, 1.0 - RARE)).astype(np.float32)


def predict_attributes(reader: AttributeClassifier, X: Array) -> Array:
    """(N, K_a) q, what regions (N, d) are like."""
    return expit(CALM * reader.regions.score(X))


def score_attribute_likelihood(reader: AttributeClassifier, attribute_probability: Array) -> Array:
    """(N, 1 + K_o) e, how well `attribute_probability` (N, K_a) go with background and each object."""
    return (
        attribute_probability @ log_expit(reader.observed_log_odds).T
        + (1.0 - attribute_probability) @ log_expit(-reader.observed_log_odds).T
    )


def describe_photo(reader: AttributeClassifier, X: Array, share: Floats, area: Floats) -> Described:
    """The attributes in a photo with vectors X (R, d), objects' `share` (R, K_o) of each region, and `area` (R,)."""
    own = reader.regions.score(X).astype(np.float64)
    weight = share * area[:, None]
    weight = weight / np.maximum(weight.sum(axis=0), np.finfo(np.float64).tiny)
    objects = pool_odds(own, weight.T) + reader.prior_log_odds[1:]
    rest = 1.0 - share.sum(axis=1, keepdims=True)
    return Described(share @ objects + rest * (own + reader.prior_log_odds[0]), objects)


def describe_parts(reader: AttributeClassifier, X: Array, share: Floats, weight: Floats) -> Floats:
    """(B, K_a) log-odds of the attributes of what is in each part of a photo.

    `weight` (B, R) is the share of each region in a part. A region counts for as much of it as is some object; what is
    usual is that of the objects in the part.
    """
    mine = weight * np.maximum(share.sum(axis=1), np.finfo(np.float64).eps)
    mine = mine / mine.sum(axis=1, keepdims=True)
    objects = mine @ share
    objects = objects / np.maximum(objects.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return pool_odds(reader.regions.score(X).astype(np.float64), mine) + objects @ reader.prior_log_odds[1:]


def _share_tags(tags: Tags, photo: Ints, which: Ints) -> Floats:
    """(n, K_a) how far the attributes of its photo are those of each object `which` (n,) in `photo` (n,)."""
    bound = bind_attributes(tags.objects, tags.attributes) + FAINT
    best = np.stack([bound[here].max(axis=0, initial=FAINT) for here in tags.objects.astype(bool)])
    return tags.attributes[photo] * bound[which] / best[photo]
