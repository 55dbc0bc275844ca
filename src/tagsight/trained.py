"""A trained model: all that is needed to say something of a new photo."""

from typing import NamedTuple

import numpy as np

from tagsight.calibration import Calibration
from tagsight.data.vocabulary import Vocabulary
from tagsight.engine.inference import Learned, NewPhotos, infer_photos
from tagsight.features.codebook import Projection, project
from tagsight.features.described import DescribedPhoto
from tagsight.features.describer import Recipe
from tagsight.model.layout import Edges
from tagsight.types import Array, Floats, Ints


class Exemplar(NamedTuple):
    """A region of a training photo in which a factor is strongly on."""

    score: float
    jpeg: bytes  # its surroundings, the region outlined


class Training(NamedTuple):
    """How a model came about."""

    n_photos: int
    seed: int
    bound: tuple[float, ...]  # after each sweep


class TrainedModel(NamedTuple):
    """What `tagsight train` makes."""

    vocabulary: Vocabulary
    recipe: Recipe
    n_regions: int
    projection: Projection
    learned: Learned
    objects: Calibration
    attributes: Calibration
    exemplars: tuple[tuple[Exemplar, ...], ...]  # of each factor, strongest first
    training: Training

    @property
    def factor_names(self) -> tuple[str, ...]:
        """Names of the columns: objects, attributes, then free factors by number."""
        free = self.learned.settings.factors.free
        return (*self.vocabulary.names, *(f"free-{k + 1}" for k in range(free)))


class RegionPosterior(NamedTuple):
    """What the model says of the regions of one photo."""

    objects: Floats  # (R, K_o) calibrated probabilities
    attributes: Floats  # (R, K_a) calibrated probabilities
    free: Floats  # (R, K_b) posterior probabilities
    weight: Floats  # (K,) photo-level pi


def look_at(model: TrainedModel, photos: list[DescribedPhoto]) -> list[RegionPosterior]:
    """Posteriors of the regions of each photo, tags unknown."""
    factors = model.learned.settings.factors
    stacked = stack_photos(photos, model.projection)
    allowed = np.ones((len(photos), factors.total), np.uint8)
    seen = infer_photos(model.learned, NewPhotos(*stacked, allowed))
    objects = model.objects.apply(seen.log_odds[:, : factors.objects])
    attributes = model.attributes.apply(seen.log_odds[:, factors.objects : factors.tagged])
    free = seen.assign[:, factors.tagged :].astype(np.float64)
    ends = np.cumsum([len(photo.features) for photo in photos])[:-1]
    return [
        RegionPosterior(*parts)
        for parts in zip(
            np.split(objects, ends),
            np.split(attributes, ends),
            np.split(free, ends),
            seen.prior,
            strict=True,
        )
    ]


class Stacked(NamedTuple):
    """The regions of many photos as the model takes them."""

    X: Array  # (N, d) float32
    groups: Ints  # (N,)
    edges: Edges


def stack_photos(photos: list[DescribedPhoto], projection: Projection) -> Stacked:
    """Project and stack regions; edges count in the stack."""
    sizes = np.array([len(photo.features) for photo in photos])
    first = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    pairs = [photo.edges.astype(np.int64) + start for photo, start in zip(photos, first, strict=True)]
    return Stacked(
        np.concatenate([embed(photo.features, projection) for photo in photos]),
        np.repeat(np.arange(len(photos)), sizes),
        Edges(np.concatenate(pairs), np.concatenate([photo.edge_weights for photo in photos])),
    )


def embed(features: Array, projection: Projection) -> Array:
    """Projected features at unit length, float32."""
    vectors = project(features.astype(np.float32), projection)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
