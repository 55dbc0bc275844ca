"""Training data of the region classifiers and of the attributes of objects, from batches of photos."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tagsight.classifiers.regions import EmbeddedRegions
from tagsight.data.vocabulary import Tags
from tagsight.engine.inference import FittedModel, NewPhotos, infer_photos
from tagsight.features.transforms import Projection
from tagsight.model.local_step import BLOCK
from tagsight.model.object_attributes import (
    Deviations,
    ObjectAttributes,
    expect_own,
    find_probability,
    list_pairs,
    solve_effects,
    weigh_objects,
)
from tagsight.predict.object_attributes import compute_deviations, split_by_photo
from tagsight.runtime.interrupts import check_stop
from tagsight.training.batches import BatchRows, FeatureSpace, PhotoBatch, PhotoBatches, standardise_blocks
from tagsight.types import Array, Floats


def infer_batches(batches: PhotoBatches, learned: FittedModel, allowed: Array) -> Iterator[tuple[PhotoBatch, Array]]:
    """Each batch with the log-odds (n, K) of its regions, where photos allow the factors in `allowed` (I, K)."""
    for batch in batches:
        check_stop()
        yield batch, infer_photos(learned, NewPhotos(*batch.stacked, allowed[batch.photo_range])).log_odds


def fit_object_attributes(
    batches: PhotoBatches, learned: FittedModel, tags: Tags, allowed: Array, attribute_prior: str
) -> ObjectAttributes:
    """Fit the attributes of objects to photos and tags; `attribute_prior` is how theta is found.

    Objects are where the posterior, given `allowed` (I, K), is on.
    """
    theta = find_probability(tags.objects, tags.attributes, attribute_prior)
    appearance = learned.state.appearance.mean[: tags.objects.shape[1]]
    sums = Deviations.none(tags.attributes.shape[1], appearance.shape[1])
    for batch, log_odds in infer_batches(batches, learned, allowed):
        photos = list(split_by_photo(batch.stacked.groups, batch.stacked.X, log_odds))
        for first in range(0, len(photos), BLOCK):  # sums over blocks that no batch divides
            last = min(first + BLOCK, len(photos))
            block = slice(batch.photo_range.start + first, batch.photo_range.start + last)
            pairs = list_pairs(tags.objects[block])
            if not len(pairs.photos):
                continue
            found = [compute_deviations(appearance, *photo) for photo in photos[first:last]]
            deviation = np.stack([found[int(i)].deviation[o] for i, o in zip(*pairs, strict=True)])
            n_regions = np.array([found[int(i)].n_regions[o] for i, o in zip(*pairs, strict=True)])
            own = expect_own(theta, pairs, tags.attributes[block]) - theta[pairs.objects]
            sums = sums.add(own, deviation, weigh_objects(n_regions))
    return solve_effects(theta, sums)


def measure_objects(batches: PhotoBatches, learned: FittedModel, allowed: Array) -> Floats:
    """(I, K_o) expected fraction of each photo that each object covers, where photos allow the factors in `allowed`."""
    n_objects = learned.settings.factors.objects
    covered = np.zeros((len(allowed), n_objects))
    for batch, log_odds in infer_batches(batches, learned, allowed):
        photos = split_by_photo(batch.stacked.groups, log_odds[:, :n_objects])
        for i, (photo, (of_photo,)) in enumerate(zip(batch.photos, photos, strict=True), batch.photo_range.start):
            area = photo.area.astype(np.float64)
            covered[i] = area / area.sum() @ expit(of_photo.astype(np.float64))
    return covered


class BatchedTrainingData(NamedTuple):
    """Training data of the region classifiers (see `classifiers.fit.TrainingData`)."""

    batches: PhotoBatches
    space: FeatureSpace
    localisation_model: FittedModel
    allowed: Array
    n_regions: int

    @property
    def width(self) -> int:
        """Length of a feature vector."""
        return int(self.space.embedding.views.ends[-1])

    @property
    def spill_dir(self) -> Path | None:
        """Folder for arrays that do not fit into memory; None: all of them fit."""
        return self.batches.spill_dir

    @property
    def embeddings(self) -> BatchRows:
        """The embeddings (N, D) of all regions."""
        return BatchRows(self.batches, self.n_regions, self.space.length)

    @property
    def standard(self) -> Projection:
        """The projection of standardised features."""
        return self.space.standard

    def standardised(self) -> Iterator[Array]:
        """The features of all regions projected by `standard`, in blocks of whole photos."""
        return standardise_blocks(self.batches, self.space.standard)

    def regions(self) -> Iterator[EmbeddedRegions]:
        """The regions, batch after batch."""
        for batch in self.batches:
            yield batch_regions(batch, self.space)

    def located(self) -> Iterator[tuple[EmbeddedRegions, Array]]:
        """The regions with the model's log-odds (N, K_o) of objects, batch after batch."""
        n_objects = self.localisation_model.settings.factors.objects
        for batch, log_odds in infer_batches(self.batches, self.localisation_model, self.allowed):
            yield batch_regions(batch, self.space), log_odds[:, :n_objects]


def batch_regions(batch: PhotoBatch, space: FeatureSpace) -> EmbeddedRegions:
    """The regions of a batch, for region classifiers."""
    return EmbeddedRegions(batch.photos, space.embedding.views, batch.stacked.X)
