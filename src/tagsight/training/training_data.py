"""Runs of photos as a course: what the model says of them, and what teaches the readers."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.classifiers.regions import Regions
from tagsight.data.vocabulary import Tags
from tagsight.engine.inference import FittedModel, NewPhotos, infer_photos
from tagsight.features.codebook import Projection
from tagsight.model.local_step import BLOCK
from tagsight.model.object_attributes import (
    Deviations,
    ObjectAttributes,
    expect_own,
    learn_probability,
    list_pairs,
    solve_effects,
    weigh_objects,
)
from tagsight.predict.object_attributes import find_deviations, split_photos
from tagsight.runtime.interrupts import check_stop
from tagsight.training.batches import BatchRows, FeatureSpace, PhotoBatch, PhotoBatches, standardise_blocks
from tagsight.types import Array


def infer_batches(batches: PhotoBatches, learned: FittedModel, allowed: Array) -> Iterator[tuple[PhotoBatch, Array]]:
    """Each run with its log-odds (n, K) where photos allow the factors `allowed` (I, K)."""
    for batch in batches:
        check_stop()
        yield batch, infer_photos(learned, NewPhotos(*batch.stacked, allowed[batch.here])).log_odds


def fit_attributes(batches: PhotoBatches, learned: FittedModel, tags: Tags, allowed: Array) -> ObjectAttributes:
    """From photos and their tags, with the objects where the model finds those `allowed` (I, K)."""
    theta = learn_probability(tags.objects, tags.attributes)
    appearance = learned.state.appearance.mean[: tags.objects.shape[1]]
    sums = Deviations.none(tags.attributes.shape[1], appearance.shape[1])
    for batch, log_odds in infer_batches(batches, learned, allowed):
        photos = list(split_photos(batch.stacked.groups, batch.stacked.X, log_odds))
        for first in range(0, len(photos), BLOCK):  # which no run divides
            here = slice(batch.here.start + first, batch.here.start + min(first + BLOCK, len(photos)))
            pairs = list_pairs(tags.objects[here])
            if not len(pairs.photos):
                continue
            seen = [find_deviations(appearance, *photos[first + i]) for i in range(here.stop - here.start)]
            deviation = np.stack([seen[i].deviation[o] for i, o in zip(*pairs, strict=True)])
            n_regions = np.array([seen[i].n_regions[o] for i, o in zip(*pairs, strict=True)])
            own = expect_own(theta, pairs, tags.attributes[here]) - theta[pairs.objects]
            sums = sums.add(own, deviation, weigh_objects(n_regions))
    return solve_effects(theta, sums)


class BatchedTrainingData(NamedTuple):
    """What teaches the readers."""

    batches: PhotoBatches
    space: FeatureSpace
    locator: FittedModel
    allowed: Array
    n_regions: int

    @property
    def width(self) -> int:
        """See `classifiers.learn.TrainingData`."""
        return int(self.space.views.ends[-1])

    @property
    def spill_dir(self) -> Path | None:
        """See `classifiers.learn.TrainingData`."""
        return self.batches.spill_dir

    @property
    def directions(self) -> BatchRows:
        """See `classifiers.learn.TrainingData`."""
        return BatchRows(self.batches, self.n_regions, self.space.length)

    @property
    def standard(self) -> Projection:
        """See `classifiers.learn.TrainingData`."""
        return self.space.standard

    def standardised(self) -> Iterator[Array]:
        """See `classifiers.learn.TrainingData`."""
        return standardise_blocks(self.batches, self.space.standard)

    def regions(self) -> Iterator[Regions]:
        """See `classifiers.learn.TrainingData`."""
        for batch in self.batches:
            yield batch_regions(batch, self.space)

    def located(self) -> Iterator[tuple[Regions, Array]]:
        """See `classifiers.learn.TrainingData`."""
        n_objects = self.locator.settings.factors.objects
        for batch, log_odds in infer_batches(self.batches, self.locator, self.allowed):
            yield batch_regions(batch, self.space), log_odds[:, :n_objects]


def batch_regions(batch: PhotoBatch, space: FeatureSpace) -> Regions:
    """The regions of a run."""
    return Regions(batch.photos, space.views, batch.stacked.X)
