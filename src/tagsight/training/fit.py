"""From described photos and their tags to something that looks: model, readers, calibration."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from tagsight.classifiers.calibration import UNCALIBRATED, Calibration
from tagsight.classifiers.fit import fit_classifiers
from tagsight.classifiers.photo_prior import PhotoPrior, fit_photo_prior
from tagsight.classifiers.score import RegionClassifiers
from tagsight.data.vocabulary import Tags
from tagsight.engine.checkpoint import Checkpoint
from tagsight.engine.fit import FitSpec
from tagsight.engine.inference import FittedModel
from tagsight.features.codebook import learn_projection, learn_standard_projection
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.views import compute_directions, learn_views
from tagsight.model.fields import start_affinity
from tagsight.model.fit import Loop
from tagsight.model.object_attributes import ObjectAttributes
from tagsight.model.settings import Factors, Settings
from tagsight.predict.object_attributes import AS_MODELLED, describe_objects, split_photos
from tagsight.predict.predictor import Predictor
from tagsight.runtime.blas import one_blas_thread
from tagsight.runtime.memory import leave_room
from tagsight.runtime.progress import Report, no_progress
from tagsight.training.batches import FeatureSpace, InMemoryBatches, OnDiskBatches, PhotoBatches, Subset, plan_length
from tagsight.training.held_out import HeldOutFit, calibrate_classifiers, calibrate_posteriors
from tagsight.training.options import TrainOptions, check_options
from tagsight.training.top_regions import TopRegions, find_top_regions, merge_top_regions
from tagsight.training.training_data import BatchedTrainingData, fit_attributes, infer_batches
from tagsight.types import Array, Ints

LENGTH = 256  # of a region's vector after projection
SAMPLE = 20_000  # regions that views and projection are learned from
HELD_OUT = 0.2  # of the photos, to calibrate on
FEWEST_TO_HOLD_OUT = 50  # photos below which nothing is held out
FEW = 8  # photos enough to compile the kernels
MAX_SWEEPS, TOL = 200, 1e-6  # the report shows the bound's curve, settled or not


class FittedParts(NamedTuple):
    """A fitted predictor, and where in the training photos each factor is strongest."""

    predictor: Predictor
    top_regions: TopRegions  # under the photos' tags
    bound: tuple[float, ...]  # after each sweep


class _FittedModel(NamedTuple):
    learned: FittedModel
    object_attributes: ObjectAttributes | None
    photo_prior: PhotoPrior | None
    classifiers: RegionClassifiers | None
    bound: tuple[float, ...]


class _TaggedPhotos(NamedTuple):
    """Photos with the number of their regions and their tags."""

    photos: Sequence[PhotoFeatures]
    sizes: Ints
    tags: Tags

    def choose(self, mine: Array) -> "_TaggedPhotos":
        tags = Tags(self.tags.objects[mine], self.tags.attributes[mine])
        return _TaggedPhotos(Subset(self.photos, np.flatnonzero(mine)), self.sizes[mine], tags)


class _FitContext(NamedTuple):
    """How to work: what was chosen, who is told, and where things are kept."""

    options: TrainOptions
    report: Report
    checkpoint: Checkpoint | None
    folder: Path | None  # for what memory has no room for
    length: int = 0  # photos of a run in that folder

    def lay_out(self, tagged_photos: _TaggedPhotos, space: FeatureSpace, name: str) -> PhotoBatches:
        if self.folder is None:
            return InMemoryBatches(tagged_photos.photos, space)
        return OnDiskBatches(tagged_photos.photos, tagged_photos.sizes, space, self.folder / name, self.length)

    def clear(self, *names: str) -> None:
        if self.folder is not None:
            for name in names:
                shutil.rmtree(self.folder / name)


@one_blas_thread()
def fit_photos(
    photos: Sequence[PhotoFeatures],
    tags: Tags,
    options: TrainOptions | None = None,
    report: Report = no_progress,
    checkpoint: Checkpoint | None = None,
) -> FittedParts:
    """Fit model and readers to photos; first to most of them, to calibrate on the others.

    What is done is kept in `checkpoint`, and taken from there. A budget (`options.memory`) does not change the answer;
    under one, `photos` should not be in memory themselves (see `features.extract.CachedPhotos`).
    """
    options = options or TrainOptions()
    check_options(options)
    with ExitStack() as stack:
        folder = None
        if options.memory is not None:
            folder = checkpoint.work if checkpoint else Path(stack.enter_context(TemporaryDirectory()))
        sizes = np.array([len(photo.features) for photo in photos])
        return _fit_photos(_TaggedPhotos(photos, sizes, tags), _FitContext(options, report, checkpoint, folder))


def _fit_photos(tagged_photos: _TaggedPhotos, context: _FitContext) -> FittedParts:
    space = _learn_space(tagged_photos, context.options)
    context = _plan_runs(tagged_photos, space, context)
    held_out = (
        _calibrate_once(tagged_photos, space, context) if len(tagged_photos.photos) >= FEWEST_TO_HOLD_OUT else None
    )
    batches = context.lay_out(tagged_photos, space, "learning")
    fitted = _fit_parts(tagged_photos, batches, space, context, "learning")
    bias, objects, attributes = held_out or HeldOutFit(
        attributes=AS_MODELLED if fitted.object_attributes else UNCALIBRATED
    )
    classifiers = fitted.classifiers and fitted.classifiers._replace(bias=bias)
    top_regions = merge_top_regions(
        list(_find_top_regions(tagged_photos, batches, fitted, attributes, context.options))
    )
    predictor = Predictor(
        space.views,
        space.projection,
        fitted.learned,
        fitted.object_attributes,
        fitted.photo_prior,
        classifiers,
        objects,
        attributes,
    )
    return FittedParts(predictor, top_regions, fitted.bound)


def _find_top_regions(
    tagged_photos: _TaggedPhotos,
    batches: PhotoBatches,
    fitted: _FittedModel,
    calibration: Calibration,
    options: TrainOptions,
) -> Iterator[TopRegions]:
    """Of each run, under the photos' tags."""
    factors = fitted.learned.settings.factors
    here = slice(factors.objects, factors.tagged)
    for batch, log_odds in infer_batches(
        batches, fitted.learned, _allow(_as_factors(tagged_photos.tags, options), options)
    ):
        if fitted.object_attributes:
            appearance = fitted.learned.state.appearance.mean[: factors.objects]
            photos = split_photos(batch.stacked.groups, batch.stacked.X, log_odds)
            described = [
                describe_objects(fitted.object_attributes, calibration, appearance, *photo).of_regions
                for photo in photos
            ]
            may = tagged_photos.tags.attributes[batch.here][batch.stacked.groups]
            log_odds[:, here] = np.where(may, logit(np.concatenate(described)), -np.inf)
        yield find_top_regions(log_odds, batch.stacked.groups, batch.here.start)


def _learn_space(tagged_photos: _TaggedPhotos, options: TrainOptions) -> FeatureSpace:
    """Views and principal components of a seeded sample of regions, evenly from all photos."""
    rng = np.random.default_rng(options.seed)
    share = min(1.0, SAMPLE / int(tagged_photos.sizes.sum()))
    first = tagged_photos.photos[0]
    if options.memory is not None:
        width = first.features.shape[1]
        leave_room(
            options.memory,
            width * (10 * min(SAMPLE, int(tagged_photos.sizes.sum())) + 12 * width),
            "the sample of regions",
        )
    sample = np.concatenate([photo.features[rng.random(len(photo.features)) < share] for photo in tagged_photos.photos])
    views = learn_views(first.blocks, sample, photo_effect=options.photo_effect)
    length = min(LENGTH, sample.shape[1])
    return FeatureSpace(
        views, learn_projection(compute_directions(sample, views), length), learn_standard_projection(sample, length)
    )


def _plan_runs(tagged_photos: _TaggedPhotos, space: FeatureSpace, context: _FitContext) -> _FitContext:
    """Runs as long as the budget allows; a checkpoint's shards stay as they were cut."""
    if context.options.memory is None:
        return context
    _compile_kernels(tagged_photos, space, context)
    length = context.checkpoint and context.checkpoint.load_result("length")
    if length is None:
        allowed = _allow(_as_factors(tagged_photos.tags, context.options), context.options)
        length = plan_length(context.options.memory, tagged_photos.sizes, allowed, space.length)
        if context.checkpoint:
            context.checkpoint.save_result("length", length)
    return context._replace(length=length)


def _compile_kernels(tagged_photos: _TaggedPhotos, space: FeatureSpace, context: _FitContext) -> None:
    """Fit a few photos: compilers do not give back what memory they take, so they take it before plans are made."""
    few = tagged_photos.choose(np.arange(len(tagged_photos.photos)) < FEW)
    batches = InMemoryBatches(few.photos, space)
    context = context._replace(report=no_progress, checkpoint=None)
    few_tags = _as_factors(few.tags, context.options)
    learned, _ = _fit_model(batches, few_tags, few.tags.attributes.shape[1], space.length, context, "compiling")
    for _ in infer_batches(batches, learned, _allow(few_tags, context.options)):
        pass


def _fit_parts(
    tagged_photos: _TaggedPhotos, batches: PhotoBatches, space: FeatureSpace, context: _FitContext, stage: str
) -> _FittedModel:
    """The model, and the readers taught by a model of objects alone.

    With attributes to explain what objects look like, objects are switched off where the attributes suffice, and are
    located worse; so the readers learn from a model that has none. Where no photo is tagged with an object, there is
    nothing to locate, and the model alone answers.
    """
    objects, attributes = tagged_photos.tags
    as_factors = _as_factors(tagged_photos.tags, context.options)
    learned, bound = _fit_model(batches, as_factors, attributes.shape[1], space.length, context, stage)
    object_attributes = None
    if context.options.attributes_of == "objects":
        object_attributes = fit_attributes(batches, learned, tagged_photos.tags, _allow(as_factors, context.options))
    photo_prior = None
    if context.options.photo_prior is not None:
        photo_prior = fit_photo_prior(tagged_photos.photos, objects, space.standard, context.options.photo_prior)
    classifiers = None
    if context.options.classifiers and objects.shape[1]:
        locator = learned
        if attributes.shape[1]:
            locator, _ = _fit_model(batches, objects, 0, space.length, context, f"{stage} where objects are")
        data = BatchedTrainingData(
            batches, space, locator, _allow(objects, context.options), int(tagged_photos.sizes.sum())
        )
        classifiers = fit_classifiers(data, tagged_photos.tags, context.options.weights)
    return _FittedModel(learned, object_attributes, photo_prior, classifiers, bound)


def _fit_model(
    batches: PhotoBatches, tags: Array, n_attributes: int, D: int, context: _FitContext, stage: str
) -> tuple[FittedModel, tuple[float, ...]]:
    """A fitted model, and the bound after each sweep."""
    options = context.options
    factors = Factors(tags.shape[1] - n_attributes, n_attributes, options.n_free)
    settings = Settings(
        factors,
        float(options.coupling),
        float(options.affinity),
        options.learn_affinity,
        options.centred,
        noise=options.noise,
        exclusive=options.exclusive,
        shrinkage=options.shrinkage,
        attribute_shrinkage=options.attribute_shrinkage,
    )
    loop = Loop(MAX_SWEEPS, TOL, lambda sweep: context.report(stage, sweep.number, MAX_SWEEPS))
    spec = FitSpec(D, settings, loop, start_affinity(tags, settings), options.start, options.seed)
    kept = context.checkpoint and context.checkpoint.fit(stage.replace(" ", "-"))
    fit = kept and kept.load_fit()
    fit = fit or batches.learn(spec, _allow(tags, options), target=options.target, checkpoint=kept)
    return FittedModel(fit.state, fit.summary, settings), tuple(sweep.bound.total for sweep in fit.sweeps)


def _as_factors(tags: Tags, options: TrainOptions) -> Array:
    """(I, K_o + K_a) the tagged factors that regions of each photo may have: no attributes where objects have those."""
    return np.hstack([tags.objects, tags.attributes * np.uint8(options.attributes_of == "regions")])


def _allow(tags: Array, options: TrainOptions) -> Array:
    """(I, K) the factors of each photo: its tags, and the free ones."""
    return np.hstack([tags, np.ones((len(tags), options.n_free), np.uint8)])


def _calibrate_once(tagged_photos: _TaggedPhotos, space: FeatureSpace, context: _FitContext) -> HeldOutFit:
    """Teach most photos, and compare with the others; from the checkpoint if it was done."""
    checkpoint = context.checkpoint
    kept = checkpoint and checkpoint.load_result("calibration")
    if kept:
        bias, objects, attributes = kept
        return HeldOutFit(bias, Calibration(*objects), Calibration(*attributes))
    held_out = np.random.default_rng(context.options.seed).random(len(tagged_photos.photos)) < HELD_OUT
    rest, others = tagged_photos.choose(~held_out), tagged_photos.choose(held_out)
    fitted = _fit_parts(rest, context.lay_out(rest, space, "calibrating"), space, context, "calibrating")
    batches = context.lay_out(others, space, "held-out")
    if fitted.classifiers:
        found = calibrate_classifiers(batches, others.tags, space, fitted.classifiers)
    else:
        found = calibrate_posteriors(batches, others.tags, fitted.learned, fitted.object_attributes, fitted.photo_prior)
    if checkpoint:
        checkpoint.save_result("calibration", found)
    context.clear("calibrating", "held-out")
    return found
