"""Read the regions of new photos, tags unknown."""

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from tagsight.readout.attributes import describe_photo, liken, see_traits
from tagsight.readout.heights import find_bands
from tagsight.readout.kinship import add_traits, measure_looks, raise_flow, spread_scores
from tagsight.readout.learn import Readout
from tagsight.readout.regions import Regions, pool_photo
from tagsight.types import Array, Floats


class Reading(NamedTuple):
    """Scores of the regions of many photos."""

    classes: Floats  # (N, 1 + K_o) log-probability, up to a constant, of background and objects, one a region
    own: Floats  # (N, 1 + K_o) the same before it was shared among kin
    attributes: Floats  # (N, K_a) log-odds
    of_objects: Floats  # (I, K_o, K_a) log-odds of the attributes of each object, wherever in the photo it is
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


def read_regions(regions: Regions, readout: Readout, allowed: Array | None = None) -> Reading:
    """What the readers say.

    Objects by their looks and by what they are like, less what the photo doubts, shared among kin, which look alike
    and are described alike. Kin tell where an object ends, not where it is clearest: attributes are of what regions say
    for themselves.
    Where `allowed` (I, K_o) is given, no region of a photo is an object that it bars.
    """
    n_regions, n_classes = len(regions.X), readout.objects.weights.shape[1]
    n_attributes = readout.attributes.usual.shape[1]
    weights = readout.weights
    flow = raise_flow(weights.flow, weights.traits if n_attributes else 0.0)
    classes, own = np.empty((n_regions, n_classes)), np.empty((n_regions, n_classes))
    attributes = np.empty((n_regions, n_attributes))
    of_objects = np.empty((len(regions.photos), n_classes - 1, n_attributes))
    whole = np.empty((len(regions.photos), n_classes - 1))
    for i, (rows, area, strengths) in enumerate(regions.each_photo()):
        X = regions.X[rows]
        traits = see_traits(readout.attributes, X)
        scores = readout.objects.score(X) + weights.likeness * liken(readout.attributes, traits)
        bands = find_bands(regions.photos[i].labels, len(X))
        scores += weights.height * readout.heights[:, bands].T
        whole[i] = readout.cue.score(pool_photo(area, strengths))
        doubt = np.minimum(whole[i], 0.0).astype(np.float32)
        own[rows] = np.hstack([scores[:, :1] + np.float32(readout.bias), scores[:, 1:] + weights.doubt * doubt])
        distance = add_traits(measure_looks(X), traits, weights.traits)
        classes[rows] = spread_scores(own[rows], distance, area, flow)
        if allowed is not None:
            for some in (classes, own):
                some[rows, 1:] = np.where(allowed[i], some[rows, 1:], -np.inf)
        share = softmax(own[rows], axis=1)[:, 1:]
        attributes[rows], of_objects[i] = describe_photo(readout.attributes, X, share, area)
    return Reading(classes, own, attributes, of_objects, whole)
