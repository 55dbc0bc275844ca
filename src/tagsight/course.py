"""Runs of photos as a course: what the model says of them, and what teaches the readers."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.data.vocabulary import Tags
from tagsight.engine.inference import Learned, NewPhotos, infer_photos
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
from tagsight.photo_attributes import find_deviations, split_photos
from tagsight.photo_runs import PhotoRuns, Run, RunRows, Space, standardise_blocks
from tagsight.readout.regions import Regions
from tagsight.stopping import check_stop
from tagsight.types import Array


def look_through(runs: PhotoRuns, learned: Learned, allowed: Array) -> Iterator[tuple[Run, Array]]:
    """Each run with its log-odds (n, K) where photos allow the factors `allowed` (I, K)."""
    for run in runs:
        check_stop()
        yield run, infer_photos(learned, NewPhotos(*run.stacked, allowed[run.here])).log_odds


def learn_attributes(runs: PhotoRuns, learned: Learned, tags: Tags, allowed: Array) -> ObjectAttributes:
    """From photos and their tags, with the objects where the model finds those `allowed` (I, K)."""
    theta = learn_probability(tags.objects, tags.attributes)
    appearance = learned.state.appearance.mean[: tags.objects.shape[1]]
    sums = Deviations.none(tags.attributes.shape[1], appearance.shape[1])
    for run, log_odds in look_through(runs, learned, allowed):
        photos = list(split_photos(run.stacked.groups, run.stacked.X, log_odds))
        for first in range(0, len(photos), BLOCK):  # which no run divides
            here = slice(run.here.start + first, run.here.start + min(first + BLOCK, len(photos)))
            pairs = list_pairs(tags.objects[here])
            if not len(pairs.photos):
                continue
            seen = [find_deviations(appearance, *photos[first + i]) for i in range(here.stop - here.start)]
            deviation = np.stack([seen[i].deviation[o] for i, o in zip(*pairs, strict=True)])
            n_regions = np.array([seen[i].n_regions[o] for i, o in zip(*pairs, strict=True)])
            own = expect_own(theta, pairs, tags.attributes[here]) - theta[pairs.objects]
            sums = sums.add(own, deviation, weigh_objects(n_regions))
    return solve_effects(theta, sums)


class PhotoCourse(NamedTuple):
    """What teaches the readers."""

    runs: PhotoRuns
    space: Space
    locator: Learned
    allowed: Array
    n_regions: int

    @property
    def width(self) -> int:
        """See `readout.learn.Course`."""
        return int(self.space.views.ends[-1])

    @property
    def shelf(self) -> Path | None:
        """See `readout.learn.Course`."""
        return self.runs.shelf

    @property
    def directions(self) -> RunRows:
        """See `readout.learn.Course`."""
        return RunRows(self.runs, self.n_regions, self.space.length)

    @property
    def standard(self) -> Projection:
        """See `readout.learn.Course`."""
        return self.space.standard

    def standardised(self) -> Iterator[Array]:
        """See `readout.learn.Course`."""
        return standardise_blocks(self.runs, self.space.standard)

    def regions(self) -> Iterator[Regions]:
        """See `readout.learn.Course`."""
        for run in self.runs:
            yield see_regions(run, self.space)

    def located(self) -> Iterator[tuple[Regions, Array]]:
        """See `readout.learn.Course`."""
        n_objects = self.locator.settings.factors.objects
        for run, log_odds in look_through(self.runs, self.locator, self.allowed):
            yield see_regions(run, self.space), log_odds[:, :n_objects]


def see_regions(run: Run, space: Space) -> Regions:
    """The regions of a run."""
    return Regions(run.photos, space.views, run.stacked.X)
