"""What is said of photos held out, compared with their tags: the background's bias, and probabilities."""

from typing import NamedTuple

import numpy as np

from tagsight.calibration import UNCALIBRATED, Calibration, fit_calibration
from tagsight.course import look_through, see_regions
from tagsight.data.vocabulary import Tags
from tagsight.engine.inference import Learned
from tagsight.photo_runs import PhotoRuns, Space
from tagsight.readout.learn import Readout
from tagsight.readout.read import read_regions
from tagsight.types import Array


class Comparison(NamedTuple):
    """What follows for photos to come."""

    bias: float = 0.0  # of the background
    objects: Calibration = UNCALIBRATED
    attributes: Calibration = UNCALIBRATED


def compare_readings(runs: PhotoRuns, tags: Tags, space: Space, readout: Readout) -> Comparison:
    """From what the readers say.

    The bias of the background is such that as many regions are background, tags unknown, as in the located objects
    that taught the reader.
    """
    objects, attributes = (np.full(part.shape, -np.inf) for part in tags)
    whole = np.empty(tags.objects.shape)
    margins = [read_regions(see_regions(run, space), readout).margin for run in runs]
    bias = float(np.quantile(np.concatenate(margins), readout.background))
    for run in runs:
        reading = read_regions(see_regions(run, space), readout._replace(bias=bias))
        somewhere = reading.margin > 0  # attributes are of objects: not asked of the background
        groups = run.stacked.groups
        whole[run.here] = reading.whole
        np.maximum.at(objects[run.here], groups, reading.objects)
        np.maximum.at(attributes[run.here], groups[somewhere], reading.attributes[somewhere])
    return Comparison(bias, _calibrate(objects, tags.objects, whole), _calibrate(attributes, tags.attributes))


def compare_posteriors(runs: PhotoRuns, tags: Tags, learned: Learned) -> Comparison:
    """From what the model alone says."""
    objects, attributes = (np.full(part.shape, -np.inf) for part in tags)
    factors = learned.settings.factors
    anything = np.ones((len(tags.objects), factors.total), np.uint8)
    for run, log_odds in look_through(runs, learned, anything):
        of_objects, of_attributes, _ = np.hsplit(log_odds, [factors.objects, factors.tagged])
        np.maximum.at(objects[run.here], run.stacked.groups, of_objects)
        np.maximum.at(attributes[run.here], run.stacked.groups, of_attributes)
    return Comparison(0.0, _calibrate(objects, tags.objects), _calibrate(attributes, tags.attributes))


def _calibrate(strongest: Array, tags: Array, whole: Array | None = None) -> Calibration:
    """From the strongest log-odds of each photo that has any, and what the photo as a whole says; tag after tag."""
    asked = np.isfinite(strongest).any(axis=1)
    of_photos = None if whole is None else whole[asked].T.ravel()
    return fit_calibration(strongest[asked].T.ravel(), tags[asked].T.ravel(), of_photos)
