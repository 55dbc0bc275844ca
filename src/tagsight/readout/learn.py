"""Teach the readers of regions: photos' tags -> cue -> located objects -> readers of objects and attributes."""

from typing import NamedTuple

import numpy as np

from tagsight.data.vocabulary import Tags
from tagsight.readout.attributes import AttributeReader, learn_attributes
from tagsight.readout.cue import fit_cue
from tagsight.readout.kinship import KINSHIP, Kinship
from tagsight.readout.locate import locate_objects
from tagsight.readout.regions import Regions
from tagsight.readout.regression import Linear, fit_softmax
from tagsight.types import Array, Ints

STRENGTH = 0.02  # of the reader of objects, on features of unit spread


class Readout(NamedTuple):
    """What reads regions: `read.read_regions`."""

    cue: Linear  # strengths of a photo -> its objects
    objects: Linear  # directions of a region -> background and objects
    attributes: AttributeReader
    kinship: Kinship
    background: float  # share of the training regions that are none of the objects
    bias: float = 0.0  # added to the background's score


def learn_readout(regions: Regions, tags: Tags, log_odds: Array, *, kinship: Kinship = KINSHIP) -> Readout:
    """Readers taught by `tags` and the model's `log_odds` (N, K_o) of tagged objects in the training regions."""
    cue = fit_cue(regions.pool_photos(), tags.objects)
    scores = np.concatenate([cue.score(strengths) for _, _, strengths in regions.each_photo()])
    labels = locate_objects(regions, scores, log_odds, tags.objects, kinship)
    return Readout(
        cue,
        _read_objects(regions, labels, tags),
        learn_attributes(regions, labels, tags),
        kinship,
        float(np.mean(labels == 0)),
    )


def _read_objects(regions: Regions, labels: Ints, tags: Tags) -> Linear:
    """A region counts by its area."""
    targets = np.eye(tags.objects.shape[1] + 1, dtype=np.float32)[labels]
    spread = max(float(regions.X.std()), 1e-12)
    area = regions.area
    reader = fit_softmax(regions.X / np.float32(spread), targets, area / area.mean(), strength=STRENGTH)
    return Linear(reader.weights / np.float32(spread), reader.offset)
