"""From the regions of photos to predictions: the one way that every command takes."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from tagsight.classifiers.calibration import Calibration
from tagsight.classifiers.fit import adapt_classifiers
from tagsight.classifiers.photo_prior import PhotoPrior, apply_photo_prior
from tagsight.classifiers.regions import Regions
from tagsight.classifiers.score import RegionClassifiers, RegionScores, score_regions
from tagsight.data.vocabulary import Tags
from tagsight.engine.inference import FittedModel, NewPhotos, infer_photos, infer_transductively
from tagsight.features.codebook import Projection, project
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.views import Views, compute_directions
from tagsight.model.infer import Inference
from tagsight.model.layout import Edges
from tagsight.model.object_attributes import ObjectAttributes
from tagsight.predict.object_attributes import describe_objects, split_photos
from tagsight.predict.photo_evidence import collect_photo_evidence
from tagsight.runtime.blas import one_blas_thread
from tagsight.types import Array, Floats, Ints

SMALLEST_PROBABILITY = 1e-300  # probability
SWEEPS, SETTLED = 200, 1e-6  # at most, and relative change of the bound, where a model learns from new photos


class Prediction(NamedTuple):
    """What the model says of the regions of one photo."""

    objects: Floats  # (R, K_o) probability that the region is the object; what a row lacks to one is background
    attributes: Floats  # (R, K_a) probability, calibrated, that the attribute is there
    free: Floats  # (R, K_b) posterior probabilities
    weight: Floats  # (K,) photo-level pi
    photo: Floats  # (K_o,) probability, calibrated, that the object is in the photo
    attributes_by_object: Floats  # (K_o, K_a) probability, calibrated, that the object has the attribute in this photo

    @property
    def found(self) -> Floats:
        """(R, K_o) that the object is in the photo, and in this region as clearly as in any: P_o p_jo / max_m p_mo."""
        clearest = self.objects.max(axis=0, initial=np.finfo(np.float64).tiny)
        return self.photo * self.objects / clearest


class Predictor(NamedTuple):
    """What training fitted: turns the regions of photos into predictions."""

    views: Views
    projection: Projection  # of directions, on principal components
    learned: FittedModel  # the model of regions
    object_attributes: ObjectAttributes | None  # None: attributes are factors of regions
    photo_prior: PhotoPrior | None  # None: photos as wholes are no evidence of their objects
    classifiers: RegionClassifiers | None  # None: the model's posterior answers
    object_calibration: Calibration
    attribute_calibration: Calibration


@one_blas_thread()
def predict_photos(
    predictor: Predictor, photos: Sequence[PhotoFeatures], allowed: Tags | None = None, *, transductive: bool = False
) -> list[Prediction]:
    """Posteriors of the regions of each photo: tags unknown, or no others than those `allowed`.

    `transductive`: model and readers learn from the photos too before they answer; they themselves stay as they are.
    """
    factors = predictor.learned.settings.factors
    stacked, seen = infer_regions(predictor, photos, allowed, transductive=transductive)
    tagged = _allow(predictor, len(photos), allowed)
    if predictor.classifiers:
        regions = Regions(photos, predictor.views, stacked.X)
        classifiers = adapt_classifiers(regions, predictor.classifiers) if transductive else predictor.classifiers
        answer = _predict_by_classifiers(
            predictor, score_regions(regions, classifiers, tagged[:, : factors.objects]), stacked
        )
    else:
        answer = _predict_by_posterior(predictor, photos, stacked, seen, tagged)
    return [
        Prediction(*parts)
        for parts in zip(
            _split(softmax(answer.classes, axis=1)[:, 1:], stacked.groups),
            _split(answer.attributes, stacked.groups),
            _split(seen.assign[:, factors.tagged :].astype(np.float64), stacked.groups),
            seen.prior,
            answer.in_photo,
            answer.attributes_by_object,
            strict=True,
        )
    ]


class _Answer(NamedTuple):
    """What is said of the regions of I photos and of their objects."""

    classes: Floats  # (N, 1 + K_o) log-probabilities of background and objects, up to a constant
    attributes: Floats  # (N, K_a) probabilities
    in_photo: Floats  # (I, K_o) probabilities
    attributes_by_object: Floats  # (I, K_o, K_a) probabilities


def _predict_by_classifiers(predictor: Predictor, scores: RegionScores, stacked: "StackedRegions") -> _Answer:
    strongest = np.maximum.reduceat(scores.objects, np.flatnonzero(np.diff(stacked.groups, prepend=-1)))
    return _Answer(
        scores.classes,
        predictor.attribute_calibration.apply(scores.attributes),
        _photo_probability(predictor, strongest, scores.photo),
        predictor.attribute_calibration.apply(scores.attributes_by_object),
    )


def _predict_by_posterior(
    predictor: Predictor, photos: Sequence[PhotoFeatures], stacked: "StackedRegions", seen: Inference, tagged: Array
) -> _Answer:
    factors, groups = predictor.learned.settings.factors, stacked.groups
    log_odds = seen.log_odds
    strongest, clearest, _, whole = collect_photo_evidence(log_odds, groups, predictor.learned)
    if predictor.photo_prior:
        whole = predictor.photo_prior.score(photos)
    in_photo = _photo_probability(predictor, strongest, whole)
    strength = predictor.photo_prior.strength if predictor.photo_prior else 0.0
    log_prior = strength * np.log(np.maximum(in_photo, SMALLEST_PROBABILITY))
    log_prior -= log_prior.max(axis=1, keepdims=True, initial=-np.inf)
    classes, objects = apply_photo_prior(
        log_odds, factors.objects, log_prior[groups], exclusive=predictor.learned.settings.exclusive
    )
    attributes = log_odds[:, factors.objects : factors.tagged]
    if predictor.object_attributes is None:
        of_regions = predictor.attribute_calibration.apply(attributes)
        return _Answer(classes, of_regions, in_photo, predictor.attribute_calibration.apply(attributes[clearest]))
    appearance = seen.appearance[: factors.objects]
    described = [
        describe_objects(predictor.object_attributes, predictor.attribute_calibration, appearance, X, odds)
        for X, odds in split_photos(groups, stacked.X, objects)
    ]
    may = tagged[:, factors.objects :]
    of_regions = np.concatenate([one.of_regions for one in described]) * may[groups]
    return _Answer(
        classes, of_regions, in_photo, np.stack([one.attributes_by_object for one in described]) * may[:, None]
    )


def _photo_probability(predictor: Predictor, strongest: Array, whole: Array) -> Floats:
    """(I, K_o) the probability that each object is in the photo; 0 where it is barred."""
    return np.where(np.isneginf(strongest), 0.0, predictor.object_calibration.apply(strongest, whole))


def _split(rows: Array, groups: Ints) -> list[Array]:
    return np.split(rows, np.flatnonzero(np.diff(groups)) + 1)


def infer_regions(
    predictor: Predictor, photos: Sequence[PhotoFeatures], allowed: Tags | None = None, *, transductive: bool = False
) -> tuple["StackedRegions", Inference]:
    """The regions of all photos, and what the model of regions says of them; arguments as of `predict_photos`."""
    factors = predictor.learned.settings.factors
    tagged = _allow(predictor, len(photos), allowed)
    if predictor.object_attributes:
        tagged[:, factors.objects :] = 0
    stacked = stack_regions(photos, predictor.views, predictor.projection)
    new = NewPhotos(*stacked, np.hstack([tagged, np.ones((len(photos), factors.free), np.uint8)]))
    infer = partial(infer_transductively, max_sweeps=SWEEPS, tol=SETTLED) if transductive else infer_photos
    return stacked, infer(predictor.learned, new)


def _allow(predictor: Predictor, n_photos: int, allowed: Tags | None) -> Array:
    """(I, K_o + K_a) the tags that photos may have."""
    return (
        np.ones((n_photos, predictor.learned.settings.factors.tagged), np.uint8)
        if allowed is None
        else np.hstack(allowed)
    )


class StackedRegions(NamedTuple):
    """The regions of many photos as the model takes them."""

    X: Array  # (N, d) float32
    groups: Ints  # (N,)
    edges: Edges


def stack_regions(photos: Sequence[PhotoFeatures], views: Views, projection: Projection) -> StackedRegions:
    """Project and stack regions; edges count in the stack."""
    sizes = np.array([len(photo.features) for photo in photos])
    first = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    pairs = [photo.edges.astype(np.int64) + start for photo, start in zip(photos, first, strict=True)]
    return StackedRegions(
        np.concatenate([embed(photo.features, views, projection) for photo in photos]),
        np.repeat(np.arange(len(photos)), sizes),
        Edges(np.concatenate(pairs), np.concatenate([photo.edge_weights for photo in photos])),
    )


def embed(features: Array, views: Views, projection: Projection) -> Array:
    """(R, d) float32 vectors of all regions of one photo: projected directions at unit length, less the photo effect.

    The photo effect is a share c of the photo's mean vector, x_j - c mean_m x_m: what all regions of a photo have in
    common, such as its light, says little about any of them.
    """
    vectors = project(compute_directions(features, views), projection)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    if views.photo_effect:
        vectors -= np.float32(views.photo_effect) * vectors.mean(axis=0)
    return vectors
