"""Teach the readers of regions: photos' tags -> cue -> located objects -> readers of objects and attributes."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from tagsight.data.vocabulary import Tags
from tagsight.readout.attributes import AttributeReader, Places, learn_attributes
from tagsight.readout.cue import fit_cue
from tagsight.readout.kinship import KINSHIP, Kinship
from tagsight.readout.locate import Candidates, find_candidates, join_candidates, locate_objects
from tagsight.readout.regions import Regions, pool_photo
from tagsight.readout.regression import Linear, OneHot, Scaling, fit_softmax
from tagsight.readout.rows import Rows, gather_rows, measure_rows
from tagsight.types import Array, Floats

STRENGTH = 0.02  # of the reader of objects, on features of unit spread


class Readout(NamedTuple):
    """What reads regions: `read.read_regions`."""

    cue: Linear  # strengths of a photo -> its objects
    objects: Linear  # directions of a region -> background and objects
    attributes: AttributeReader
    kinship: Kinship
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


def learn_readout(course: Course, tags: Tags, *, kinship: Kinship = KINSHIP) -> Readout:
    """Readers taught by `tags` and by the model's log-odds in the training regions."""
    cue = _learn_cue(course, tags)
    candidates = join_candidates(list(_find(course, cue, tags, kinship)))
    labels = locate_objects(candidates)
    return Readout(
        cue,
        _read_objects(course, labels, candidates.area, tags),
        learn_attributes(course.directions, Places(candidates.photo, labels, candidates.area), tags),
        kinship,
        float(np.mean(labels == 0)),
    )


def _learn_cue(course: Course, tags: Tags) -> Linear:
    pooled = (
        pool_photo(area, strengths) for regions in course.regions() for _, area, strengths in regions.each_photo()
    )
    rows = gather_rows(pooled, course.width, course.shelf and course.shelf / "photos.rows")
    return fit_cue(rows, tags.objects)


def _find(course: Course, cue: Linear, tags: Tags, kinship: Kinship) -> Iterator[Candidates]:
    first = 0
    for regions, log_odds in course.located():
        objects = tags.objects[first : (first := first + len(regions.photos))]
        yield find_candidates(regions, cue, log_odds, objects, kinship)


def _read_objects(course: Course, labels: Array, area: Floats, tags: Tags) -> Linear:
    """A region counts by its area."""
    rows = course.directions
    mean, deviation = measure_rows(rows)
    spread = float(np.sqrt(np.mean(deviation**2 + (mean - mean.mean()) ** 2)))  # of all entries together
    targets = OneHot(labels, tags.objects.shape[1] + 1)
    scaling = Scaling(max(spread, 1e-12))
    return fit_softmax(rows, targets, area / area.mean(), strength=STRENGTH, scaling=scaling)
