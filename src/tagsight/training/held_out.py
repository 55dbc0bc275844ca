"""Calibration on held-out photos: the bias of the background, and probabilities that match the frequencies of tags."""

from typing import NamedTuple

import numpy as np

from tagsight.classifiers.calibration import UNCALIBRATED, Calibration, fit_calibration
from tagsight.classifiers.score import RegionClassifiers, score_regions
from tagsight.data.vocabulary import Tags
from tagsight.predict.object_attributes import SUM_CALIBRATION, split_by_photo, weigh_attributes
from tagsight.predict.photo_evidence import collect_photo_evidence
from tagsight.predict.predictor import Calibrations, FittedParts
from tagsight.training.batches import FeatureSpace, PhotoBatches
from tagsight.training.training_data import batch_regions, infer_batches
from tagsight.types import Array


class HeldOutFit(NamedTuple):
    """The parameters that are fitted to held-out photos."""

    bias: float  # of the background
    calibration: Calibrations


def calibrate_classifiers(
    batches: PhotoBatches, tags: Tags, space: FeatureSpace, classifiers: RegionClassifiers
) -> HeldOutFit:
    """Calibrate the scores of region classifiers.

    The bias of the background is chosen so that the share of regions labelled background equals that of the
    pseudo-labels on which the classifiers were trained.
    """
    objects, attributes = (np.full(part.shape, -np.inf) for part in tags)
    photo_scores = np.empty(tags.objects.shape)
    margins = [score_regions(batch_regions(batch, space), classifiers).margin for batch in batches]
    bias = float(np.quantile(np.concatenate(margins), classifiers.background))
    for batch in batches:
        scores = score_regions(batch_regions(batch, space), classifiers._replace(bias=bias))
        foreground = scores.margin > 0  # only objects have attributes
        groups = batch.stacked.groups
        photo_scores[batch.photo_range] = scores.photo
        np.maximum.at(objects[batch.photo_range], groups, scores.objects)
        np.maximum.at(attributes[batch.photo_range], groups[foreground], scores.attributes[foreground])
    calibration = Calibrations(_calibrate(objects, tags.objects, photo_scores), _calibrate(attributes, tags.attributes))
    return HeldOutFit(bias, calibration)


def calibrate_posteriors(batches: PhotoBatches, tags: Tags, parts: FittedParts) -> HeldOutFit:
    """Calibrate the model's posterior, without region classifiers.

    Attributes are calibrated on tagged objects: the score of an attribute is that of the region with the highest score
    of the object. In photos without a tagged object it is the highest score of all regions.
    """
    learned, object_attributes, photo_prior = parts.learned, parts.object_attributes, parts.photo_prior
    n_objects, n_tagged = learned.settings.factors.objects, learned.settings.factors.tagged
    objects, photo_scores = np.empty(tags.objects.shape), np.empty(tags.objects.shape)
    strongest = np.empty(tags.attributes.shape)
    of_objects: list[Array] = []
    allowed = np.ones((len(tags.objects), learned.settings.factors.total), np.uint8)
    if not parts.regions_have_attributes:
        allowed[:, n_objects:n_tagged] = 0
    appearance = learned.state.appearance.mean[:n_objects]
    for batch, log_odds in infer_batches(batches, learned, allowed):
        evidence = collect_photo_evidence(log_odds, batch.stacked.groups, learned)
        objects[batch.photo_range], strongest[batch.photo_range] = evidence.objects, evidence.attributes
        photo_scores[batch.photo_range] = (
            photo_prior.score(batch.photos) if photo_prior else evidence.attribute_evidence
        )
        tagged = np.nonzero(tags.objects[batch.photo_range])
        if object_attributes:
            photos = split_by_photo(batch.stacked.groups, batch.stacked.X, log_odds)
            weighed = [weigh_attributes(object_attributes, appearance, *photo) for photo in photos]
            of_objects += [weighed[i][[o]] for i, o in zip(*tagged, strict=True)]
        else:
            of_objects.append(log_odds[evidence.best_region[tagged], n_objects:n_tagged])
    photo, object_ = np.nonzero(tags.objects)
    if object_attributes:
        prior = object_attributes.prior_log_odds[object_]
        attributes = _calibrate(np.concatenate([*of_objects, prior[:0]]), tags.attributes[photo], prior)
        attributes = SUM_CALIBRATION if attributes == UNCALIBRATED else attributes
    else:
        bare = ~tags.objects.any(axis=1)
        attributes = _calibrate(
            np.concatenate([*of_objects, strongest[bare]]),
            np.concatenate([tags.attributes[photo], tags.attributes[bare]]),
        )
    of_photos = photo_scores if photo_scores.any() else None
    return HeldOutFit(0.0, Calibrations(_calibrate(objects, tags.objects, of_photos), attributes))


def _calibrate(scores: Array, tags: Array, photo_scores: Array | None = None) -> Calibration:
    """Fit to scores (n, T) of photos or of their objects; rows of -inf are left out."""
    rows = np.isfinite(scores).any(axis=1)
    of_photos = None if photo_scores is None else photo_scores[rows].T.ravel()
    return fit_calibration(scores[rows].T.ravel(), tags[rows].T.ravel(), of_photos)
