"""Predictions for the regions of photos, used by commands, index, web page, export and benchmark alike."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from tagsight.classifiers.calibration import UNCALIBRATED, Calibration
from tagsight.classifiers.fit import adapt_classifiers
from tagsight.classifiers.photo_prior import AdjustedScores, PhotoPrior, apply_photo_prior
from tagsight.classifiers.regions import EmbeddedRegions
from tagsight.classifiers.score import RegionClassifiers, RegionScores, score_regions
from tagsight.classifiers.smoothing import smooth_photos
from tagsight.data.vocabulary import Tags
from tagsight.engine.inference import FittedModel, Inference, NewPhotos, infer_photos, infer_transductively
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.transforms import Projection, Views, normalise_features, project
from tagsight.model.layout import Edges
from tagsight.model.object_attributes import ObjectAttributes
from tagsight.predict.object_attributes import describe_objects, describe_parts, split_by_photo
from tagsight.predict.photo_evidence import PhotoEvidence, collect_photo_evidence
from tagsight.runtime.blas import one_blas_thread
from tagsight.types import Array, Floats, Ints

SWEEPS, TOL = 200, 1e-6  # limits of transductive inference: sweeps, relative change of the bound


class Prediction(NamedTuple):
    """Predictions for the R regions of one photo, and for the photo."""

    objects: Floats  # (R, K_o) P(the region is the object); background has the rest
    attributes: Floats  # (R, K_a) P(the region has the attribute), calibrated
    free: Floats  # (R, K_b) posterior probability of each free factor
    weight: Floats  # (K,) pi of the photo
    photo: Floats  # (K_o,) P(the object is in the photo), calibrated
    attributes_by_object: Floats  # (K_o, K_a) P(the object in this photo has the attribute), calibrated

    @property
    def presence_by_region(self) -> Floats:
        """(R, K_o) P_o p_jo / max_m p_mo, with P = `photo` and p = `objects`.

        In the most probable region of an object it is the probability that the object is in the photo; other regions
        have less, in proportion to their probability of being the object.
        """
        highest = self.objects.max(axis=0, initial=np.finfo(np.float64).tiny)
        return self.photo * self.objects / highest


class Embedding(NamedTuple):
    """Maps the feature vectors of regions to embeddings, the vectors of the model and the region classifiers."""

    views: Views
    projection: Projection  # of normalised features, on principal components


class FittedParts(NamedTuple):
    """The parts of a predictor that are fitted to the regions of the training photos."""

    learned: FittedModel  # the fitted model: its globals, summary and settings
    object_attributes: ObjectAttributes | None = None  # None: attributes are factors of regions only
    photo_prior: PhotoPrior | None = None  # None: no photo-level prior
    smoothing: float = (
        0.0  # strength of the field over similar regions of a new photo; region classifiers do not use it
    )
    classifiers: RegionClassifiers | None = None  # None: the model's posterior predicts

    @property
    def regions_have_attributes(self) -> bool:
        """Whether attributes are factors of regions: whether any training photo allowed one."""
        factors = self.learned.settings.factors
        return bool(self.learned.summary.count[factors.objects : factors.tagged].any())


class Calibrations(NamedTuple):
    """Maps scores to probabilities, for each kind of tag."""

    objects: Calibration = UNCALIBRATED
    attributes: Calibration = UNCALIBRATED


class Predictor(NamedTuple):
    """Turns the regions of photos into predictions; composed of what training fitted."""

    embedding: Embedding
    parts: FittedParts
    calibration: Calibrations


@one_blas_thread()
def predict_photos(
    predictor: Predictor, photos: Sequence[PhotoFeatures], allowed: Tags | None = None, *, transductive: bool = False
) -> list[Prediction]:
    """The prediction for each photo; with `allowed`, only those tags are possible.

    With `transductive`, copies of the model and the region classifiers are first adapted to the photos.
    """
    factors = predictor.parts.learned.settings.factors
    stacked, inference = infer_regions(predictor, photos, allowed, transductive=transductive)
    tagged = _allow(predictor, len(photos), allowed)
    if predictor.parts.classifiers:
        scores = _score_regions(predictor, photos, stacked, tagged, transductive=transductive)
        scored = _predict_by_classifiers(predictor, scores, stacked)
    else:
        scored = _predict_by_posterior(predictor, photos, stacked, inference, tagged)
    return [
        Prediction(*parts)
        for parts in zip(
            _split(softmax(scored.classes, axis=1)[:, 1:], stacked.groups),
            _split(scored.attributes, stacked.groups),
            _split(inference.assign[:, factors.tagged :].astype(np.float64), stacked.groups),
            inference.prior,
            scored.photo,
            scored.attributes_by_object,
            strict=True,
        )
    ]


class _Scores(NamedTuple):
    """Scores of the N regions of I photos, and of the objects in them."""

    classes: Floats  # (N, 1 + K_o) log-probabilities of background and objects, up to a constant
    attributes: Floats  # (N, K_a) probabilities
    photo: Floats  # (I, K_o) probabilities
    attributes_by_object: Floats  # (I, K_o, K_a) probabilities


def _score_regions(
    predictor: Predictor,
    photos: Sequence[PhotoFeatures],
    stacked: "StackedRegions",
    tagged: Array,
    *,
    transductive: bool,
) -> RegionScores:
    classifiers = predictor.parts.classifiers
    assert classifiers is not None
    regions = EmbeddedRegions(photos, predictor.embedding.views, stacked.X)
    if transductive:
        classifiers = adapt_classifiers(regions, classifiers)
    return score_regions(regions, classifiers, tagged[:, : predictor.parts.learned.settings.factors.objects])


def _predict_by_classifiers(predictor: Predictor, scores: RegionScores, stacked: "StackedRegions") -> _Scores:
    strongest = np.maximum.reduceat(scores.objects, np.flatnonzero(np.diff(stacked.groups, prepend=-1)))
    return _Scores(
        scores.classes,
        predictor.calibration.attributes.apply(scores.attributes),
        _predict_photo_objects(predictor, strongest, scores.photo),
        predictor.calibration.attributes.apply(scores.attributes_by_object),
    )


class _PhotoLevelScores(NamedTuple):
    """The objects of I photos with N regions, by the posterior and the photo-level prior."""

    photo: Floats  # (I, K_o) P(the object is in the photo)
    regions: AdjustedScores
    evidence: PhotoEvidence


def _combine_photo_evidence(
    predictor: Predictor, photos: Sequence[PhotoFeatures], stacked: "StackedRegions", inference: Inference
) -> _PhotoLevelScores:
    """Probabilities of photos, and the regions' posterior adjusted by the photo-level prior."""
    learned, photo_prior = predictor.parts.learned, predictor.parts.photo_prior
    evidence = collect_photo_evidence(inference.log_odds, stacked.groups, learned)
    photo_scores = photo_prior.score(photos) if photo_prior else evidence.attribute_evidence
    photo = _predict_photo_objects(predictor, evidence.objects, photo_scores)
    log_prior = photo_prior.compute_log_prior(photo) if photo_prior else np.zeros_like(photo)
    factors, exclusive = learned.settings.factors, learned.settings.exclusive
    adjusted = apply_photo_prior(inference.log_odds, factors, log_prior[stacked.groups], exclusive=exclusive)
    return _PhotoLevelScores(photo, adjusted, evidence)


def _smooth_classes(
    scores: AdjustedScores, photos: Sequence[PhotoFeatures], X: Array, smoothing: float, *, exclusive: bool
) -> Floats:
    """(N, 1 + K_o) the class scores smoothed over similar regions; log-odds of each object if it is not exclusive.

    The photo effect is common to all regions of a photo and does not change their distances.
    """
    if not smoothing:
        return scores.classes
    if exclusive:
        return smooth_photos(log_softmax(scores.classes, axis=1), photos, X, smoothing)
    return np.hstack([scores.classes[:, :1], smooth_photos(scores.objects, photos, X, smoothing)])


def _predict_by_posterior(
    predictor: Predictor,
    photos: Sequence[PhotoFeatures],
    stacked: "StackedRegions",
    inference: Inference,
    tagged: Array,
) -> _Scores:
    """Scores from the posterior: log-odds adjusted by the photo-level prior; attributes of regions or of objects.

    The spatial field smooths the classes of regions. Attributes use the scores before smoothing, which find the most
    probable regions of an object better.
    """
    object_attributes, calibration = predictor.parts.object_attributes, predictor.calibration.attributes
    factors, groups = predictor.parts.learned.settings.factors, stacked.groups
    photo, adjusted, evidence = _combine_photo_evidence(predictor, photos, stacked, inference)
    exclusive, smoothing = predictor.parts.learned.settings.exclusive, predictor.parts.smoothing
    classes = _smooth_classes(adjusted, photos, stacked.X, smoothing, exclusive=exclusive)
    if object_attributes is None:
        attributes = inference.log_odds[:, factors.objects : factors.tagged]
        of_objects = calibration.apply(attributes[evidence.best_region])
        return _Scores(classes, calibration.apply(attributes), photo, of_objects)
    appearance = inference.appearance[: factors.objects]
    described = [
        describe_objects(object_attributes, calibration, appearance, X, log_odds)
        for X, log_odds in split_by_photo(groups, stacked.X, adjusted.objects)
    ]
    allowed = tagged[:, factors.objects :]
    of_regions = np.concatenate([photo.by_region for photo in described]) * allowed[groups]
    of_objects = np.stack([photo.attributes_by_object for photo in described]) * allowed[:, None]
    return _Scores(classes, of_regions, photo, of_objects)


@one_blas_thread()
def describe_photo_parts(predictor: Predictor, photo: PhotoFeatures, parts: Floats) -> Floats:
    """(P, K_a) P(the part has the attribute), of P parts of a photo whose regions are weighted by `parts` (P, R).

    The predictor must have attributes of objects.
    """
    object_attributes = predictor.parts.object_attributes
    assert object_attributes is not None
    stacked, inference = infer_regions(predictor, [photo])
    objects = _combine_photo_evidence(predictor, [photo], stacked, inference).regions.objects
    appearance = inference.appearance[: objects.shape[1]]
    return describe_parts(object_attributes, predictor.calibration.attributes, appearance, stacked.X, objects, parts)


def _predict_photo_objects(predictor: Predictor, strongest: Array, photo_scores: Array) -> Floats:
    """(I, K_o) P(the object is in the photo); 0 where the object is not allowed."""
    probability = predictor.calibration.objects.apply(strongest, photo_scores)
    return np.where(np.isneginf(strongest), 0.0, probability)


def _split(rows: Array, groups: Ints) -> list[Array]:
    return np.split(rows, np.flatnonzero(np.diff(groups)) + 1)


def infer_regions(
    predictor: Predictor, photos: Sequence[PhotoFeatures], allowed: Tags | None = None, *, transductive: bool = False
) -> tuple["StackedRegions", Inference]:
    """The stacked regions of all photos and the model's posterior; arguments as in `predict_photos`."""
    factors = predictor.parts.learned.settings.factors
    tagged = _allow(predictor, len(photos), allowed)
    if not predictor.parts.regions_have_attributes:
        tagged[:, factors.objects :] = 0
    stacked = stack_regions(photos, predictor.embedding)
    new = NewPhotos(*stacked, np.hstack([tagged, np.ones((len(photos), factors.free), np.uint8)]))
    infer = partial(infer_transductively, max_sweeps=SWEEPS, tol=TOL) if transductive else infer_photos
    return stacked, infer(predictor.parts.learned, new)


def _allow(predictor: Predictor, n_photos: int, allowed: Tags | None) -> Array:
    """(I, K_o + K_a) the tags that photos may have."""
    if allowed is None:
        return np.ones((n_photos, predictor.parts.learned.settings.factors.tagged), np.uint8)
    return np.hstack(allowed)


class StackedRegions(NamedTuple):
    """The regions of many photos in one stack."""

    X: Array  # (N, D) float32
    groups: Ints  # (N,)
    edges: Edges


def stack_regions(photos: Sequence[PhotoFeatures], embedding: Embedding) -> StackedRegions:
    """Embed and stack the regions of photos; edges are pairs of rows of the stack."""
    sizes = np.array([len(photo.features) for photo in photos])
    first = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    pairs = [photo.edges.astype(np.int64) + start for photo, start in zip(photos, first, strict=True)]
    return StackedRegions(
        np.concatenate([embed(photo.features, embedding) for photo in photos]),
        np.repeat(np.arange(len(photos)), sizes),
        Edges(np.concatenate(pairs), np.concatenate([photo.edge_weights for photo in photos])),
    )


def embed(features: Array, embedding: Embedding) -> Array:
    """(R, D) float32 embeddings of the regions of one photo: projected, of unit length, minus the photo effect.

    The photo effect is a fraction c of the photo's mean vector: x_j - c mean_m x_m. The mean is common to all regions
    of the photo, such as the light, and carries little information about a single region.
    """
    vectors = project_to_unit_length(features, embedding)
    if embedding.views.photo_effect:
        vectors -= np.float32(embedding.views.photo_effect) * vectors.mean(axis=0)
    return vectors


def project_to_unit_length(features: Array, embedding: Embedding) -> Array:
    """(n, D) float32 projected vectors of unit length of any regions; `embed` without the photo effect."""
    vectors = project(normalise_features(features, embedding.views), embedding.projection)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return vectors
