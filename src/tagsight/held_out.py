"""What is said of photos held out, compared with their tags: the background's bias, and probabilities."""

from typing import NamedTuple

import numpy as np

from tagsight.calibration import UNCALIBRATED, Calibration, fit_calibration
from tagsight.course import look_through, see_regions
from tagsight.data.vocabulary import Tags
from tagsight.engine.inference import Learned
from tagsight.model.object_attributes import ObjectAttributes
from tagsight.photo_attributes import AS_MODELLED, split_photos, weigh_attributes
from tagsight.photo_prior import PhotoPrior
from tagsight.photo_runs import PhotoRuns, Space
from tagsight.photo_scores import score_photos
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


def compare_posteriors(
    runs: PhotoRuns,
    tags: Tags,
    learned: Learned,
    object_attributes: ObjectAttributes | None = None,
    photo_prior: PhotoPrior | None = None,
) -> Comparison:
    """From what the model alone says.

    Attributes are asked of tagged objects: of regions' attributes where the object is clearest; of all regions where no
    object is tagged.
    """
    n_objects, n_tagged = learned.settings.factors.objects, learned.settings.factors.tagged
    objects, company = np.empty(tags.objects.shape), np.empty(tags.objects.shape)
    strongest = np.empty(tags.attributes.shape)
    like: list[Array] = []
    anything = np.ones((len(tags.objects), learned.settings.factors.total), np.uint8)
    if object_attributes:
        anything[:, n_objects:n_tagged] = 0
    appearance = learned.state.appearance.mean[:n_objects]
    for run, log_odds in look_through(runs, learned, anything):
        objects[run.here], clearest, strongest[run.here], company[run.here] = score_photos(
            log_odds, run.stacked.groups, learned
        )
        if photo_prior:
            company[run.here] = photo_prior.score(run.photos)
        tagged = np.nonzero(tags.objects[run.here])
        if object_attributes:
            photos = split_photos(run.stacked.groups, run.stacked.X, log_odds)
            evidence = [weigh_attributes(object_attributes, appearance, *photo) for photo in photos]
            like += [evidence[i][[o]] for i, o in zip(*tagged, strict=True)]
        else:
            like.append(log_odds[clearest[tagged], n_objects:n_tagged])
    photo, object_ = np.nonzero(tags.objects)
    if object_attributes:
        prior = object_attributes.prior_odds[object_]
        of_attributes = _calibrate(np.concatenate([*like, prior[:0]]), tags.attributes[photo], prior)
        of_attributes = AS_MODELLED if of_attributes == UNCALIBRATED else of_attributes
    else:
        bare = ~tags.objects.any(axis=1)
        of_attributes = _calibrate(
            np.concatenate([*like, strongest[bare]]), np.concatenate([tags.attributes[photo], tags.attributes[bare]])
        )
    return Comparison(0.0, _calibrate(objects, tags.objects, company if company.any() else None), of_attributes)


def _calibrate(strongest: Array, tags: Array, whole: Array | None = None) -> Calibration:
    """From log-odds of photos, or of their objects, that have any, and what photos as wholes say; tag after tag."""
    asked = np.isfinite(strongest).any(axis=1)
    of_photos = None if whole is None else whole[asked].T.ravel()
    return fit_calibration(strongest[asked].T.ravel(), tags[asked].T.ravel(), of_photos)
