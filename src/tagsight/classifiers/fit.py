"""Fit the region classifiers: tags -> class activation maps -> pseudo-labels -> object and attribute classifiers."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
from scipy.special import softmax

from tagsight.classifiers.attributes import LabelledBags, LabelledRegions, fit_attribute_classifier
from tagsight.classifiers.background import has_background_class
from tagsight.classifiers.bags import fit_class_activation
from tagsight.classifiers.localisation import (
    LocalisationClassifiers,
    LocalisationScores,
    assign_pseudo_labels,
    fit_photo_classifier,
    join_localisation,
    score_localisation,
)
from tagsight.classifiers.regions import EmbeddedRegions, find_height_bands, fit_height_prior, pool_features
from tagsight.classifiers.regression import Linear, OneHot, Scaling, Targets, fit_softmax
from tagsight.classifiers.rows import BlockedRows, InMemoryRows, compute_mean_std, store_blocks, store_rows
from tagsight.classifiers.score import ClassifierWeights, RegionClassifiers, score_regions
from tagsight.data.vocabulary import Tags
from tagsight.features.transforms import Projection
from tagsight.types import Array, Floats

CLASS_ACTIVATION_PENALTY = 2e-4
OBJECT_CLASSIFIER_C = 0.02  # inverse regularisation, on features of unit scale
BALANCE = 0.75  # 0 weighs objects by their total area, 1 weighs all objects equally
SMOOTHING_WITHOUT_BACKGROUND = 0.7  # factor of the smoothing strength; more merges small objects into large ones


class TrainingData(Protocol):
    """Training photos, their regions and the model's posterior, iterated batch by batch and repeatedly."""

    @property
    def width(self) -> int:
        """Length of a feature vector."""
        ...

    @property
    def spill_dir(self) -> Path | None:
        """The folder for rows that do not fit in memory; None where they fit."""
        ...

    @property
    def standard(self) -> Projection:
        """The projection from feature vectors to standardised vectors."""
        ...

    def standardised(self) -> Iterable[Array]:
        """Standardised vectors (n, s) of all regions, in blocks of whole photos."""
        ...

    def regions(self) -> Iterable[EmbeddedRegions]:
        """The regions of each batch."""
        ...

    def located(self) -> Iterable[tuple[EmbeddedRegions, Array]]:
        """The regions of each batch with the model's log-odds (N, K_o) of tagged objects."""
        ...

    @property
    def embeddings(self) -> BlockedRows:
        """(N, d) embeddings of all regions, in blocks of whole photos."""
        ...


def fit_classifiers(data: TrainingData, tags: Tags, weights: ClassifierWeights) -> RegionClassifiers:
    """Region classifiers, from the photos' tags and the model's log-odds in the training regions."""
    photo_classifier = _fit_photo_classifier(data, tags)
    photo, area, bands = _collect_region_geometry(data)
    localisation = LocalisationClassifiers(_fit_class_activation(data, photo, area, tags), photo_classifier)
    background = has_background_class(data.embeddings, photo, area, tags.objects)
    scores = join_localisation(list(_score_localisation(data, localisation, tags, weights)))
    labels = assign_pseudo_labels(scores, photo, background=background)
    height_prior = fit_height_prior(bands, labels, area, tags.objects.shape[1] + 1)
    return RegionClassifiers(
        photo_classifier,
        _fit_objects(data, labels, area, tags),
        fit_attribute_classifier(data.embeddings, LabelledRegions(photo, labels, area), tags, weights.attribute_prior),
        height_prior,
        weights if background else weights._replace(smoothing=SMOOTHING_WITHOUT_BACKGROUND * weights.smoothing),
        float((labels == 0).mean()),
    )


def adapt_classifiers(regions: EmbeddedRegions, classifiers: RegionClassifiers) -> RegionClassifiers:
    """The classifiers adapted to the untagged `regions` of new photos.

    The scores of new regions depend on more than the object classifier: on the other regions of the photo, through
    smoothing, and on the photo classifier. A second object classifier is fitted to these scores, and the mean of both
    object classifiers replaces the first.
    """
    pseudo_labels = softmax(score_regions(regions, classifiers).classes, axis=1)
    area = np.concatenate([photo.area for photo in regions.photos])
    second = fit_object_classifier(InMemoryRows(regions.X), pseudo_labels, area)
    offset = second.offset.copy()
    offset[0] -= classifiers.bias  # `score_regions` adds it
    first = classifiers.objects
    return classifiers._replace(objects=Linear((first.weights + second.weights) / 2, (first.offset + offset) / 2))


def _fit_photo_classifier(data: TrainingData, tags: Tags) -> Linear:
    pooled = (
        pool_features(area, scaled_features)
        for regions in data.regions()
        for _, area, scaled_features in regions.iterate_photos()
    )
    rows = store_rows(pooled, data.width, data.spill_dir and data.spill_dir / "photos.rows")
    return fit_photo_classifier(rows, tags.objects)


def _collect_region_geometry(data: TrainingData) -> tuple[Array, Floats, Array]:
    """(N,) the photo, the share of the photo's area and the height band of each region."""
    areas, bands = list[Floats](), list[Array]()
    for photo in (photo for regions in data.regions() for photo in regions.photos):
        areas.append(photo.area)
        bands.append(find_height_bands(photo.labels, len(photo.features)))
    photos = np.repeat(np.arange(len(areas), dtype=np.int32), [len(area) for area in areas])
    return photos, np.concatenate(areas), np.concatenate(bands)


def _fit_class_activation(data: TrainingData, photo: Array, area: Floats, tags: Tags) -> Linear:
    """Class activation maps fitted on standardised vectors, as a classifier of feature vectors."""
    basis, offset = data.standard
    d = basis.shape[1]
    rows = store_blocks(data.standardised(), d, data.spill_dir and data.spill_dir / "standard.rows")
    photos = LabelledBags(rows, LabelledRegions(photo, np.zeros_like(photo), area))
    fitted = fit_class_activation(photos, d, tags.objects, CLASS_ACTIVATION_PENALTY)
    return Linear(basis @ fitted.weights, fitted.offset - offset @ fitted.weights)


def _score_localisation(
    data: TrainingData, classifiers: LocalisationClassifiers, tags: Tags, weights: ClassifierWeights
) -> Iterator[LocalisationScores]:
    first = 0
    for regions, log_odds in data.located():
        objects = tags.objects[first : (first := first + len(regions.photos))]
        yield score_localisation(regions, classifiers, log_odds, objects, weights)


def _fit_objects(data: TrainingData, labels: Array, area: Floats, tags: Tags) -> Linear:
    targets = OneHot(labels, tags.objects.shape[1] + 1)
    return fit_object_classifier(data.embeddings, targets, compute_region_weights(labels, area, BALANCE))


def compute_region_weights(labels: Array, area: Array, balance: float) -> Floats:
    """(N,) weight of each region in training: its area times (share of all area that has its label)^-balance."""
    share = np.bincount(labels, area) / area.sum()
    return area * share[labels] ** -balance


def fit_object_classifier(rows: BlockedRows, targets: Targets, weight: Floats) -> Linear:
    """Multinomial regression of `targets` (N, 1 + K_o) on unit vectors (N, d) with sample weights `weight` (N,)."""
    mean, deviation = compute_mean_std(rows)
    squares: Floats = deviation**2 + (mean - mean.mean()) ** 2
    overall_std = float(np.sqrt(squares.mean()))  # of all entries together
    scaling = Scaling(max(overall_std, 1e-12))
    return fit_softmax(rows, targets, weight / weight.mean(), C=OBJECT_CLASSIFIER_C, scaling=scaling)
