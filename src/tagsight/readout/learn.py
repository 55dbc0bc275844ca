"""Teach the readers of regions: photos' tags -> activation -> located objects -> readers of objects, attributes."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from tagsight.data.vocabulary import Tags
from tagsight.features.codebook import Projection
from tagsight.readout.activation import train_activation
from tagsight.readout.attributes import AttributeReader, LabelledBags, Places, learn_attributes
from tagsight.readout.coverage import has_background
from tagsight.readout.cue import fit_cue
from tagsight.readout.heights import find_bands, learn_heights
from tagsight.readout.locate import Candidates, Scorers, find_candidates, join_candidates, locate_objects
from tagsight.readout.regions import Regions, pool_photo
from tagsight.readout.regression import Linear, OneHot, Scaling, Targets, fit_softmax
from tagsight.readout.rows import Rows, gather_rows, keep_blocks, measure_rows
from tagsight.readout.weights import Weights
from tagsight.types import Array, Floats

PENALTY = 2e-4  # of the activation that locates
STRENGTH = 0.02  # of the reader of objects, on features of unit spread
BALANCE = 0.75  # 0: objects count in the reader by their area; 1: all alike
FLOW_WITHOUT_BACKGROUND = 0.7  # of that with one; more, and small objects take the name of large ones


class Readout(NamedTuple):
    """What reads regions: `read.read_regions`."""

    cue: Linear  # strengths of a photo -> its objects
    objects: Linear  # directions of a region -> background and objects
    attributes: AttributeReader
    heights: Array  # (1 + K_o, BANDS) what each band speaks for
    weights: Weights  # in reading
    background: float  # share of the training regions that are none of the objects
    bias: float = 0.0  # added to the background's score


class Course(Protocol):
    """What the readers learn from, run of photos after run of photos, as often as they ask."""

    @property
    def width(self) -> int:
        """Length of a vector of strengths."""
        ...

    @property
    def shelf(self) -> Path | None:
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


def learn_readout(course: Course, tags: Tags, weights: Weights) -> Readout:
    """Readers taught by `tags` and by the model's log-odds in the training regions."""
    cue = _learn_cue(course, tags)
    photo, area, bands = _place_regions(course)
    scorers = Scorers(_learn_activation(course, photo, area, tags), cue)
    background = has_background(course.directions, photo, area, tags.objects)
    candidates = join_candidates(list(_find(course, scorers, tags, weights)))
    labels = locate_objects(candidates, photo, background=background)
    heights = learn_heights(bands, labels, area, tags.objects.shape[1] + 1)
    return Readout(
        cue,
        _read_objects(course, labels, area, tags),
        learn_attributes(course.directions, Places(photo, labels, area), tags, weights.custom),
        heights,
        weights if background else weights._replace(flow=FLOW_WITHOUT_BACKGROUND * weights.flow),
        float(np.mean(labels == 0)),
    )


def _learn_cue(course: Course, tags: Tags) -> Linear:
    pooled = (
        pool_photo(area, strengths) for regions in course.regions() for _, area, strengths in regions.each_photo()
    )
    rows = gather_rows(pooled, course.width, course.shelf and course.shelf / "photos.rows")
    return fit_cue(rows, tags.objects)


def _place_regions(course: Course) -> tuple[Array, Floats, Array]:
    """(N,) the photo of each region, its share of it, and the band of height it lies in."""
    areas, bands = list[Floats](), list[Array]()
    for photo in (photo for regions in course.regions() for photo in regions.photos):
        areas.append(photo.area)
        bands.append(find_bands(photo.labels, len(photo.features)))
    photos = np.repeat(np.arange(len(areas), dtype=np.int32), [len(area) for area in areas])
    return photos, np.concatenate(areas), np.concatenate(bands)


def _learn_activation(course: Course, photo: Array, area: Floats, tags: Tags) -> Linear:
    """Class activation, for vectors as they were described."""
    basis, offset = course.standard
    d = basis.shape[1]
    rows = keep_blocks(course.standardised(), d, course.shelf and course.shelf / "standard.rows")
    photos = LabelledBags(rows, Places(photo, np.zeros_like(photo), area))
    found = train_activation(photos, d, tags.objects, PENALTY)
    return Linear(basis @ found.weights, found.offset - offset @ found.weights)


def _find(course: Course, scorers: Scorers, tags: Tags, weights: Weights) -> Iterator[Candidates]:
    first = 0
    for regions, log_odds in course.located():
        objects = tags.objects[first : (first := first + len(regions.photos))]
        yield find_candidates(regions, scorers, log_odds, objects, weights)


def _read_objects(course: Course, labels: Array, area: Floats, tags: Tags) -> Linear:
    targets = OneHot(labels, tags.objects.shape[1] + 1)
    return fit_reader(course.directions, targets, balance_labels(labels, area, BALANCE))


def balance_labels(labels: Array, area: Array, balance: float) -> Floats:
    """(N,) what each region counts: by its area, and by how little of all area its label has, share^-balance."""
    share = np.bincount(labels, area) / area.sum()
    return area * share[labels] ** -balance


def fit_reader(rows: Rows, targets: Targets, weight: Floats) -> Linear:
    """Multinomial regression of `targets` (N, 1 + K_o) on directions (N, d); rows count by `weight` (N,)."""
    mean, deviation = measure_rows(rows)
    spread = float(np.sqrt(np.mean(deviation**2 + (mean - mean.mean()) ** 2)))  # of all entries together
    scaling = Scaling(max(spread, 1e-12))
    return fit_softmax(rows, targets, weight / weight.mean(), strength=STRENGTH, scaling=scaling)
