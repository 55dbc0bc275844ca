"""Teach the readers of regions: photos' tags -> cue -> located objects -> readers of objects and attributes."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from tagsight.data.vocabulary import Tags
from tagsight.readout.binding import bind_attributes
from tagsight.readout.cue import fit_cue
from tagsight.readout.kinship import KINSHIP, Kinship
from tagsight.readout.locate import Candidates, find_candidates, join_candidates, locate_objects
from tagsight.readout.regions import Regions, pool_photo
from tagsight.readout.regression import Linear, OneHot, Scaling, fit_softmax
from tagsight.readout.rows import Rows, gather_rows, measure_rows
from tagsight.types import Array, Floats, Ints

STRENGTH = 0.02  # of the reader of objects, on features of unit spread
FAINT = 0.02  # P(attribute | object) that no tag is denied


class Readout(NamedTuple):
    """What reads regions: `read.read_regions`."""

    cue: Linear  # strengths of a photo -> its objects
    objects: Linear  # directions of a region -> background and objects
    attributes: Linear  # strengths of a region -> attributes
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
        """(N, d) vectors of all regions."""
        ...


def learn_readout(course: Course, tags: Tags, *, kinship: Kinship = KINSHIP) -> Readout:
    """Readers taught by `tags` and by the model's log-odds in the training regions."""
    cue = _learn_cue(course, tags)
    candidates = join_candidates(list(_find(course, cue, tags, kinship)))
    labels = locate_objects(candidates)
    return Readout(
        cue,
        _read_objects(course, labels, candidates.area, tags),
        _read_attributes(course, labels, tags),
        kinship,
        float(np.mean(labels == 0)),
    )


def _learn_cue(course: Course, tags: Tags) -> Linear:
    pooled = (
        pool_photo(area, strengths) for regions in course.regions() for _, area, strengths in regions.each_photo()
    )
    return fit_cue(_gather(course, pooled, "photos"), tags.objects)


def _find(course: Course, cue: Linear, tags: Tags, kinship: Kinship) -> Iterator[Candidates]:
    first = 0
    for regions, log_odds in course.located():
        objects = tags.objects[first : (first := first + len(regions.photos))]
        yield find_candidates(regions, cue, log_odds, objects, kinship)


def _read_objects(course: Course, labels: Ints, area: Floats, tags: Tags) -> Linear:
    """A region counts by its area."""
    rows = course.directions
    mean, deviation = measure_rows(rows)
    spread = float(np.sqrt(np.mean(deviation**2 + (mean - mean.mean()) ** 2)))  # of all entries together
    targets = OneHot(labels, tags.objects.shape[1] + 1)
    scaling = Scaling(max(spread, 1e-12))
    return fit_softmax(rows, targets, area / area.mean(), strength=STRENGTH, scaling=scaling)


def _read_attributes(course: Course, labels: Ints, tags: Tags) -> Linear:
    """Each located object, its regions pooled, has the photo's attributes as far as they are its own.

    Of the objects of a photo, the one that goes best with attribute a (`binding`) has it; the others have it by how
    well they go with it beside that one.
    """
    bound = bind_attributes(tags.objects, tags.attributes) + FAINT
    targets: list[Floats] = []

    def pool_objects() -> Iterator[Array]:
        first, photo = 0, 0
        for regions in course.regions():
            for rows, area, strengths in regions.each_photo():
                here = labels[first + rows.start : first + rows.stop]
                objects, attributes = tags.objects[photo].astype(bool), tags.attributes[photo]
                for o in np.unique(here[here > 0]) - 1:
                    mine = np.where(here == o + 1, area, 0.0)
                    targets.append(attributes * bound[o] / bound[objects].max(axis=0))
                    yield (mine / mine.sum()).astype(np.float32) @ strengths
                photo += 1
            first += len(regions.X)

    pooled = _gather(course, pool_objects(), "objects")
    if not targets:
        n_attributes = tags.attributes.shape[1]
        return Linear(np.zeros((pooled.shape[1], n_attributes), np.float32), np.zeros(n_attributes, np.float32))
    return fit_cue(pooled, np.stack(targets))


def _gather(course: Course, rows: Iterable[Array], name: str) -> Rows:
    return gather_rows(rows, course.width, course.shelf and course.shelf / f"{name}.rows")
