"""Teach the readers of regions: photos' tags -> activation -> located objects -> readers of objects, attributes."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from tagsight.classifiers.attributes import AttributeClassifier, LabelledBags, LabelledRegions, fit_attributes
from tagsight.classifiers.background import has_background
from tagsight.classifiers.class_activation import train_class_activation
from tagsight.classifiers.height_prior import find_height_bands, fit_height_prior
from tagsight.classifiers.localisation import (
    LocalisationClassifiers,
    LocalisationScores,
    assign_pseudo_labels,
    join_localisation,
    score_localisation,
)
from tagsight.classifiers.photo_classifier import fit_photo_classifier
from tagsight.classifiers.regions import Regions, pool_photo
from tagsight.classifiers.regression import Linear, OneHot, Scaling, Targets, fit_softmax
from tagsight.classifiers.rows import Rows, gather_rows, measure_rows, store_blocks
from tagsight.classifiers.weights import ClassifierWeights
from tagsight.data.vocabulary import Tags
from tagsight.features.codebook import Projection
from tagsight.types import Array, Floats

PENALTY = 2e-4  # of the activation that locates
STRENGTH = 0.02  # of the reader of objects, on features of unit spread
BALANCE = 0.75  # 0: objects count in the reader by their area; 1: all alike
SMOOTHING_WITHOUT_BACKGROUND = 0.7  # of that with one; more, and small objects take the name of large ones


class RegionClassifiers(NamedTuple):
    """What reads regions: `read.score_regions`."""

    photo_classifier: Linear  # strengths of a photo -> its objects
    objects: Linear  # directions of a region -> background and objects
    attributes: AttributeClassifier
    height_prior: Array  # (1 + K_o, BANDS) what each band speaks for
    weights: ClassifierWeights  # in reading
    background: float  # share of the training regions that are none of the objects
    bias: float = 0.0  # added to the background's score


class TrainingData(Protocol):
    """What the readers learn from, run of photos after run of photos, as often as they ask."""

    @property
    def width(self) -> int:
        """Length of a vector of strengths."""
        ...

    @property
    def spill_dir(self) -> Path | None:
        """A folder for rows that memory has no room for; None: it has."""
        ...

    @property
    def standard(self) -> Projection:
        """Of vectors as they were described, to what class activation sees."""
        ...

    def standardised(self) -> Iterable[Array]:
        """Vectors (n, s) of all regions so projected, in blocks of whole photos."""
        ...

    def regions(self) -> Iterable[Regions]:
        """The regions."""
        ...

    def located(self) -> Iterable[tuple[Regions, Array]]:
        """The regions, with the model's log-odds (N, K_o) of tagged objects."""
        ...

    @property
    def directions(self) -> Rows:
        """(N, d) vectors of all regions, in blocks of whole photos."""
        ...


def fit_classifiers(data: TrainingData, tags: Tags, weights: ClassifierWeights) -> RegionClassifiers:
    """Readers taught by `tags` and by the model's log-odds in the training regions."""
    photo_classifier = _fit_photo_classifier(data, tags)
    photo, area, bands = _place_regions(data)
    scorers = LocalisationClassifiers(_fit_class_activation(data, photo, area, tags), photo_classifier)
    background = has_background(data.directions, photo, area, tags.objects)
    candidates = join_localisation(list(_find(data, scorers, tags, weights)))
    labels = assign_pseudo_labels(candidates, photo, background=background)
    height_prior = fit_height_prior(bands, labels, area, tags.objects.shape[1] + 1)
    return RegionClassifiers(
        photo_classifier,
        _fit_objects(data, labels, area, tags),
        fit_attributes(data.directions, LabelledRegions(photo, labels, area), tags, weights.attribute_prior),
        height_prior,
        weights if background else weights._replace(smoothing=SMOOTHING_WITHOUT_BACKGROUND * weights.smoothing),
        float(np.mean(labels == 0)),
    )


def _fit_photo_classifier(data: TrainingData, tags: Tags) -> Linear:
    pooled = (pool_photo(area, strengths) for regions in data.regions() for _, area, strengths in regions.each_photo())
    rows = gather_rows(pooled, data.width, data.spill_dir and data.spill_dir / "photos.rows")
    return fit_photo_classifier(rows, tags.objects)


def _place_regions(data: TrainingData) -> tuple[Array, Floats, Array]:
    """(N,) the photo of each region, its share of it, and the band of height it lies in."""
    areas, bands = list[Floats](), list[Array]()
    for photo in (photo for regions in data.regions() for photo in regions.photos):
        areas.append(photo.area)
        bands.append(find_height_bands(photo.labels, len(photo.features)))
    photos = np.repeat(np.arange(len(areas), dtype=np.int32), [len(area) for area in areas])
    return photos, np.concatenate(areas), np.concatenate(bands)


def _fit_class_activation(data: TrainingData, photo: Array, area: Floats, tags: Tags) -> Linear:
    """Class activation, for vectors as they were described."""
    basis, offset = data.standard
    d = basis.shape[1]
    rows = store_blocks(data.standardised(), d, data.spill_dir and data.spill_dir / "standard.rows")
    photos = LabelledBags(rows, LabelledRegions(photo, np.zeros_like(photo), area))
    found = train_class_activation(photos, d, tags.objects, PENALTY)
    return Linear(basis @ found.weights, found.offset - offset @ found.weights)


def _find(
    data: TrainingData, scorers: LocalisationClassifiers, tags: Tags, weights: ClassifierWeights
) -> Iterator[LocalisationScores]:
    first = 0
    for regions, log_odds in data.located():
        objects = tags.objects[first : (first := first + len(regions.photos))]
        yield score_localisation(regions, scorers, log_odds, objects, weights)


def _fit_objects(data: TrainingData, labels: Array, area: Floats, tags: Tags) -> Linear:
    targets = OneHot(labels, tags.objects.shape[1] + 1)
    return fit_object_classifier(data.directions, targets, balance_labels(labels, area, BALANCE))


def balance_labels(labels: Array, area: Array, balance: float) -> Floats:
    """(N,) what each region counts: by its area, and by how little of all area its label has, share^-balance."""
    share = np.bincount(labels, area) / area.sum()
    return area * share[labels] ** -balance


def fit_object_classifier(rows: Rows, targets: Targets, weight: Floats) -> Linear:
    """Multinomial regression of `targets` (N, 1 + K_o) on directions (N, d); rows count by `weight` (N,)."""
    mean, deviation = measure_rows(rows)
    spread = float(np.sqrt(np.mean(deviation**2 + (mean - mean.mean()) ** 2)))  # of all entries together
    scaling = Scaling(max(spread, 1e-12))
    return fit_softmax(rows, targets, weight / weight.mean(), strength=STRENGTH, scaling=scaling)
