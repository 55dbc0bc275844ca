"""A trained model: all that is needed to say something of a new photo."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import softmax

from tagsight.blas import one_blas_thread
from tagsight.calibration import Calibration
from tagsight.data.vocabulary import Tags, Vocabulary
from tagsight.engine.inference import Learned, NewPhotos, infer_photos, infer_transductively
from tagsight.features.codebook import Projection, project
from tagsight.features.described import DescribedPhoto
from tagsight.features.describer import Recipe
from tagsight.features.views import Views, see_directions
from tagsight.model.infer import Inference
from tagsight.model.layout import Edges
from tagsight.model.object_attributes import ObjectAttributes
from tagsight.photo_attributes import describe_objects, split_photos
from tagsight.photo_prior import PhotoPrior, heed_photos
from tagsight.photo_scores import score_photos
from tagsight.readout.adapt import adapt_readout
from tagsight.readout.learn import Readout
from tagsight.readout.read import Reading, read_regions
from tagsight.readout.regions import Regions
from tagsight.types import Array, Floats, Ints

FAINTEST = 1e-300  # probability
SWEEPS, SETTLED = 200, 1e-6  # at most, and relative change of the bound, where a model learns from new photos


class Exemplar(NamedTuple):
    """A region of a training photo in which a factor is strongly on."""

    score: float
    jpeg: bytes  # its surroundings, the region outlined


class Training(NamedTuple):
    """How a model came about."""

    n_photos: int
    seed: int
    bound: tuple[float, ...]  # after each sweep
    version: str | None = None  # of tagsight; None: not recorded


class TrainedModel(NamedTuple):
    """What `tagsight train` makes."""

    vocabulary: Vocabulary
    recipe: Recipe
    n_regions: int
    views: Views
    projection: Projection
    learned: Learned
    object_attributes: ObjectAttributes | None  # None: attributes are factors of regions
    photo_prior: PhotoPrior | None  # None: photos as wholes say nothing of their objects
    readout: Readout | None  # None: the model's posterior speaks for itself
    objects: Calibration
    attributes: Calibration
    exemplars: tuple[tuple[Exemplar, ...], ...]  # of each factor, strongest first
    training: Training

    @property
    def factor_names(self) -> tuple[str, ...]:
        """Names of the columns: objects, attributes, then free factors by number."""
        free = self.learned.settings.factors.free
        return (*self.vocabulary.names, *(f"free-{k + 1}" for k in range(free)))


class RegionPosterior(NamedTuple):
    """What the model says of the regions of one photo."""

    objects: Floats  # (R, K_o) probability that the region is the object; what a row lacks to one is background
    attributes: Floats  # (R, K_a) probability, calibrated, that the attribute is there
    free: Floats  # (R, K_b) posterior probabilities
    weight: Floats  # (K,) photo-level pi
    photo: Floats  # (K_o,) probability, calibrated, that the object is in the photo
    of_objects: Floats  # (K_o, K_a) probability, calibrated, that the object has the attribute, wherever it is

    @property
    def found(self) -> Floats:
        """(R, K_o) that the object is in the photo, and in this region as clearly as in any: P_o p_jo / max_m p_mo."""
        clearest = self.objects.max(axis=0, initial=np.finfo(np.float64).tiny)
        return self.photo * self.objects / clearest


class Sight(Protocol):
    """The part of a trained model that looks."""

    @property
    def views(self) -> Views:
        """How vectors are seen."""
        ...

    @property
    def projection(self) -> Projection:
        """Principal components of directions."""
        ...

    @property
    def learned(self) -> Learned:
        """The fitted model."""
        ...

    @property
    def object_attributes(self) -> ObjectAttributes | None:
        """What is known of attributes of objects; None: they are factors of regions."""
        ...

    @property
    def photo_prior(self) -> PhotoPrior | None:
        """What photos as wholes say of their objects; None: nothing."""
        ...

    @property
    def readout(self) -> Readout | None:
        """The readers of regions, if any."""
        ...

    @property
    def objects(self) -> Calibration:
        """Calibration of objects."""
        ...

    @property
    def attributes(self) -> Calibration:
        """Calibration of attributes."""
        ...


@one_blas_thread()
def look_at(
    model: Sight, photos: Sequence[DescribedPhoto], allowed: Tags | None = None, *, together: bool = False
) -> list[RegionPosterior]:
    """Posteriors of the regions of each photo: tags unknown, or no others than those `allowed`.

    `together`: model and readers learn from the photos too before they answer; they themselves stay as they are.
    """
    factors = model.learned.settings.factors
    stacked, seen = infer_posterior(model, photos, allowed, together=together)
    tagged = _allow(model, len(photos), allowed)
    if model.readout:
        regions = Regions(photos, model.views, stacked.X)
        readout = adapt_readout(regions, model.readout) if together else model.readout
        answer = _answer_by_readout(model, read_regions(regions, readout, tagged[:, : factors.objects]), stacked)
    else:
        answer = _answer_by_posterior(model, photos, stacked, seen, tagged)
    return [
        RegionPosterior(*parts)
        for parts in zip(
            _split(softmax(answer.classes, axis=1)[:, 1:], stacked.groups),
            _split(answer.attributes, stacked.groups),
            _split(seen.assign[:, factors.tagged :].astype(np.float64), stacked.groups),
            seen.prior,
            answer.in_photo,
            answer.of_objects,
            strict=True,
        )
    ]


class _Answer(NamedTuple):
    """What is said of the regions of I photos and of their objects."""

    classes: Floats  # (N, 1 + K_o) log-probabilities of background and objects, up to a constant
    attributes: Floats  # (N, K_a) probabilities
    in_photo: Floats  # (I, K_o) probabilities
    of_objects: Floats  # (I, K_o, K_a) probabilities


def _answer_by_readout(model: Sight, reading: Reading, stacked: "Stacked") -> _Answer:
    strongest = np.maximum.reduceat(reading.objects, np.flatnonzero(np.diff(stacked.groups, prepend=-1)))
    return _Answer(
        reading.classes,
        model.attributes.apply(reading.attributes),
        _ask_photos(model, strongest, reading.whole),
        model.attributes.apply(reading.of_objects),
    )


def _answer_by_posterior(
    model: Sight, photos: Sequence[DescribedPhoto], stacked: "Stacked", seen: Inference, tagged: Array
) -> _Answer:
    factors, groups = model.learned.settings.factors, stacked.groups
    log_odds = seen.log_odds
    strongest, clearest, _, whole = score_photos(log_odds, groups, model.learned)
    if model.photo_prior:
        whole = model.photo_prior.score(photos)
    in_photo = _ask_photos(model, strongest, whole)
    strength = model.photo_prior.strength if model.photo_prior else 0.0
    log_prior = strength * np.log(np.maximum(in_photo, FAINTEST))
    log_prior -= log_prior.max(axis=1, keepdims=True, initial=-np.inf)
    classes, objects = heed_photos(
        log_odds, factors.objects, log_prior[groups], exclusive=model.learned.settings.exclusive
    )
    attributes = log_odds[:, factors.objects : factors.tagged]
    if model.object_attributes is None:
        of_regions = model.attributes.apply(attributes)
        return _Answer(classes, of_regions, in_photo, model.attributes.apply(attributes[clearest]))
    appearance = seen.appearance[: factors.objects]
    described = [
        describe_objects(model.object_attributes, model.attributes, appearance, X, odds)
        for X, odds in split_photos(groups, stacked.X, objects)
    ]
    may = tagged[:, factors.objects :]
    of_regions = np.concatenate([one.of_regions for one in described]) * may[groups]
    return _Answer(classes, of_regions, in_photo, np.stack([one.of_objects for one in described]) * may[:, None])


def _ask_photos(model: Sight, strongest: Array, whole: Array) -> Floats:
    """(I, K_o) the probability that each object is in the photo; 0 where it is barred."""
    return np.where(np.isneginf(strongest), 0.0, model.objects.apply(strongest, whole))


def _split(rows: Array, groups: Ints) -> list[Array]:
    return np.split(rows, np.flatnonzero(np.diff(groups)) + 1)


def infer_posterior(
    model: Sight, photos: Sequence[DescribedPhoto], allowed: Tags | None = None, *, together: bool = False
) -> tuple["Stacked", Inference]:
    """The regions of all photos, and what the model of regions says of them; arguments as of `look_at`."""
    factors = model.learned.settings.factors
    tagged = _allow(model, len(photos), allowed)
    if model.object_attributes:
        tagged[:, factors.objects :] = 0
    stacked = stack_photos(photos, model.views, model.projection)
    new = NewPhotos(*stacked, np.hstack([tagged, np.ones((len(photos), factors.free), np.uint8)]))
    infer = partial(infer_transductively, max_sweeps=SWEEPS, tol=SETTLED) if together else infer_photos
    return stacked, infer(model.learned, new)


def _allow(model: Sight, n_photos: int, allowed: Tags | None) -> Array:
    """(I, K_o + K_a) the tags that photos may have."""
    return (
        np.ones((n_photos, model.learned.settings.factors.tagged), np.uint8) if allowed is None else np.hstack(allowed)
    )


class Stacked(NamedTuple):
    """The regions of many photos as the model takes them."""

    X: Array  # (N, d) float32
    groups: Ints  # (N,)
    edges: Edges


def stack_photos(photos: Sequence[DescribedPhoto], views: Views, projection: Projection) -> Stacked:
    """Project and stack regions; edges count in the stack."""
    sizes = np.array([len(photo.features) for photo in photos])
    first = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    pairs = [photo.edges.astype(np.int64) + start for photo, start in zip(photos, first, strict=True)]
    return Stacked(
        np.concatenate([embed(photo.features, views, projection) for photo in photos]),
        np.repeat(np.arange(len(photos)), sizes),
        Edges(np.concatenate(pairs), np.concatenate([photo.edge_weights for photo in photos])),
    )


def embed(features: Array, views: Views, projection: Projection) -> Array:
    """(R, d) float32 vectors of all regions of one photo: projected directions at unit length, less the photo effect.

    The photo effect is a share c of the photo's mean vector, x_j - c mean_m x_m: what all regions of a photo have in
    common, such as its light, says little about any of them.
    """
    vectors = project(see_directions(features, views), projection)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    if views.photo_effect:
        vectors -= np.float32(views.photo_effect) * vectors.mean(axis=0)
    return vectors
