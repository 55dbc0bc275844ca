"""What is said of photos held out, compared with their tags: the background's bias, and probabilities."""

from typing import NamedTuple

import numpy as np

from tagsight.classifiers.calibration import UNCALIBRATED, Calibration, fit_calibration
from tagsight.classifiers.photo_prior import PhotoPrior
from tagsight.classifiers.score import RegionClassifiers, score_regions
from tagsight.data.vocabulary import Tags
from tagsight.engine.inference import FittedModel
from tagsight.model.object_attributes import ObjectAttributes
from tagsight.predict.object_attributes import AS_MODELLED, split_photos, weigh_attributes
from tagsight.predict.photo_evidence import collect_photo_evidence
from tagsight.training.batches import FeatureSpace, PhotoBatches
from tagsight.training.training_data import batch_regions, infer_batches
from tagsight.types import Array


class HeldOutFit(NamedTuple):
    """What follows for photos to come."""

    bias: float = 0.0  # of the background
    objects: Calibration = UNCALIBRATED
    attributes: Calibration = UNCALIBRATED


def calibrate_classifiers(
    batches: PhotoBatches, tags: Tags, space: FeatureSpace, classifiers: RegionClassifiers
) -> HeldOutFit:
    """From what the readers say.

    The bias of the background is such that as many regions are background, tags unknown, as in the located objects
    that taught the reader.
    """
    objects, attributes = (np.full(part.shape, -np.inf) for part in tags)
    whole = np.empty(tags.objects.shape)
    margins = [score_regions(batch_regions(batch, space), classifiers).margin for batch in batches]
    bias = float(np.quantile(np.concatenate(margins), classifiers.background))
    for batch in batches:
        scores = score_regions(batch_regions(batch, space), classifiers._replace(bias=bias))
        somewhere = scores.margin > 0  # attributes are of objects: not asked of the background
        groups = batch.stacked.groups
        whole[batch.here] = scores.photo
        np.maximum.at(objects[batch.here], groups, scores.objects)
        np.maximum.at(attributes[batch.here], groups[somewhere], scores.attributes[somewhere])
    return HeldOutFit(bias, _calibrate(objects, tags.objects, whole), _calibrate(attributes, tags.attributes))


def calibrate_posteriors(
    batches: PhotoBatches,
    tags: Tags,
    learned: FittedModel,
    object_attributes: ObjectAttributes | None = None,
    photo_prior: PhotoPrior | None = None,
) -> HeldOutFit:
    """From what the model alone says.

    Attributes are asked of tagged objects: of regions' attributes where the object is clearest; of all regions where no
    object is tagged.
    """
    n_objects, n_tagged = learned.settings.factors.objects, learned.settings.factors.tagged
    objects, attribute_support = np.empty(tags.objects.shape), np.empty(tags.objects.shape)
    strongest = np.empty(tags.attributes.shape)
    like: list[Array] = []
    anything = np.ones((len(tags.objects), learned.settings.factors.total), np.uint8)
    if object_attributes:
        anything[:, n_objects:n_tagged] = 0
    appearance = learned.state.appearance.mean[:n_objects]
    for batch, log_odds in infer_batches(batches, learned, anything):
        objects[batch.here], clearest, strongest[batch.here], attribute_support[batch.here] = collect_photo_evidence(
            log_odds, batch.stacked.groups, learned
        )
        if photo_prior:
            attribute_support[batch.here] = photo_prior.score(batch.photos)
        tagged = np.nonzero(tags.objects[batch.here])
        if object_attributes:
            photos = split_photos(batch.stacked.groups, batch.stacked.X, log_odds)
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
    return HeldOutFit(
        0.0, _calibrate(objects, tags.objects, attribute_support if attribute_support.any() else None), of_attributes
    )


def _calibrate(strongest: Array, tags: Array, whole: Array | None = None) -> Calibration:
    """From log-odds of photos, or of their objects, that have any, and what photos as wholes say; tag after tag."""
    asked = np.isfinite(strongest).any(axis=1)
    of_photos = None if whole is None else whole[asked].T.ravel()
    return fit_calibration(strongest[asked].T.ravel(), tags[asked].T.ravel(), of_photos)
