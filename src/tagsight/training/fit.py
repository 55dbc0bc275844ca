"""Fit a predictor to the regions of photos and their tags: embedding, model, region classifiers, calibration."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from tagsight.classifiers.background import has_background_class
from tagsight.classifiers.fit import fit_classifiers
from tagsight.classifiers.photo_prior import fit_photo_prior
from tagsight.classifiers.rows import InMemoryRows
from tagsight.data.vocabulary import Tags
from tagsight.engine.checkpoint import Checkpoint
from tagsight.engine.fit import FitSpec
from tagsight.engine.inference import FittedModel
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.transforms import (
    learn_projection,
    learn_standard_projection,
    learn_views,
    normalise_features,
)
from tagsight.model.fields import start_affinity
from tagsight.model.fit import Loop, Sweep
from tagsight.model.settings import Factors, Settings
from tagsight.predict.object_attributes import SUM_CALIBRATION, describe_objects, split_by_photo
from tagsight.predict.predictor import Calibrations, Embedding, FittedParts, Predictor, project_to_unit_length
from tagsight.runtime.blas import one_blas_thread
from tagsight.runtime.memory import leave_room
from tagsight.runtime.progress import Report, no_progress
from tagsight.training.batches import FeatureSpace, InMemoryBatches, OnDiskBatches, PhotoBatches, Subset, plan_length
from tagsight.training.examples import TopRegions, find_top_regions, merge_top_regions
from tagsight.training.held_out import HeldOutFit, calibrate_classifiers, calibrate_posteriors
from tagsight.training.options import TrainOptions, check_options
from tagsight.training.training_data import BatchedTrainingData, fit_object_attributes, infer_batches, measure_objects
from tagsight.types import Array, Floats, Ints

N_BACKGROUND = 10  # free factors where tags do not cover the photos, unless a number is given
LENGTH = 256  # of a region's vector after projection
EMBEDDING_SAMPLE = 20_000  # regions from which the transforms of features are learned
HELD_OUT = 0.2  # fraction of the photos used for calibration
FEWEST_TO_HOLD_OUT = 50  # photos below which none are held out
WARM_UP_PHOTOS = 8  # photos of the fit that compiles the kernels
MAX_SWEEPS, TOL = 200, 1e-6


class FitResult(NamedTuple):
    """A fitted predictor, with facts about its fit."""

    predictor: Predictor
    top_regions: TopRegions  # training regions in which each factor is strongest, under the photos' tags
    bound: tuple[float, ...]  # after each sweep


class BatchPlan(NamedTuple):
    """How photos are divided into batches on disk."""

    length: int  # photos per batch


class _TaggedPhotos(NamedTuple):
    """I photos, the number of regions of each (I,), and their tags."""

    photos: Sequence[PhotoFeatures]
    sizes: Ints
    tags: Tags

    def select(self, mask: Array) -> "_TaggedPhotos":
        """The photos where `mask` (I,) is true."""
        tags = Tags(self.tags.objects[mask], self.tags.attributes[mask])
        return _TaggedPhotos(Subset(self.photos, np.flatnonzero(mask)), self.sizes[mask], tags)

    def allow_tagged(self, options: TrainOptions) -> Array:
        """(I, K_o + K_a) tagged factors that regions of each photo may have."""
        return np.hstack([self.tags.objects, self.tags.attributes * np.uint8(options.attributes_of != "objects")])


class _FitContext(NamedTuple):
    """Options of the fit, and where its intermediate results are stored."""

    options: TrainOptions
    report: Report
    checkpoint: Checkpoint | None
    folder: Path | None  # for batches on disk; None: all photos are held in memory
    length: int = 0  # photos of a batch on disk

    def make_batches(self, tagged_photos: _TaggedPhotos, space: FeatureSpace, name: str) -> PhotoBatches:
        if self.folder is None:
            return InMemoryBatches(tagged_photos.photos, space)
        return OnDiskBatches(tagged_photos.photos, tagged_photos.sizes, space, self.folder / name, self.length)

    def remove_batches(self, *names: str) -> None:
        if self.folder is not None:
            for name in names:
                shutil.rmtree(self.folder / name)


def fit_photos(
    photos: Sequence[PhotoFeatures],
    tags: Tags,
    options: TrainOptions | None = None,
    report: Report = no_progress,
    checkpoint: Checkpoint | None = None,
) -> FitResult:
    """Fit a predictor to photos and their tags; if there are enough photos, calibrate it on a held-out part of them.

    Finished stages are stored in `checkpoint` and loaded from it. A memory limit (`options.memory`) does not change the
    result; with one, `photos` should not be in memory (see `features.extract.CachedPhotos`).
    """
    options = options or TrainOptions()
    check_options(options)
    tagged_photos = _TaggedPhotos(photos, np.array([len(photo.features) for photo in photos]), tags)
    with one_blas_thread(), ExitStack() as stack:
        folder = None
        if options.memory is not None:
            folder = checkpoint.work if checkpoint else Path(stack.enter_context(TemporaryDirectory()))
        space = _learn_space(tagged_photos, options)
        options = _choose_by_coverage(tagged_photos, space, options)
        context = _FitContext(options, report, checkpoint, folder)
        context = _plan_batches(tagged_photos, space, context)
        held_out = None
        if len(photos) >= FEWEST_TO_HOLD_OUT:
            held_out = _calibrate(tagged_photos, space, context)
        batches = context.make_batches(tagged_photos, space, "fitting")
        parts, bound = _fit_parts(tagged_photos, batches, space, context, "fitting")
        if held_out is None:
            calibration = Calibrations(attributes=SUM_CALIBRATION) if parts.object_attributes else Calibrations()
            held_out = HeldOutFit(0.0, calibration)
        if parts.classifiers:
            parts = parts._replace(classifiers=parts.classifiers._replace(bias=held_out.bias))
        predictor = Predictor(space.embedding, parts, held_out.calibration)
        top_regions = merge_top_regions(list(_find_top_regions(tagged_photos, batches, predictor, options)))
        return FitResult(predictor, top_regions, bound)


def _find_top_regions(
    tagged_photos: _TaggedPhotos, batches: PhotoBatches, predictor: Predictor, options: TrainOptions
) -> Iterator[TopRegions]:
    """The top regions of each batch, under the photos' tags."""
    parts = predictor.parts
    factors = parts.learned.settings.factors
    columns = slice(factors.objects, factors.tagged)
    for batch, log_odds in infer_batches(batches, parts.learned, _allow(tagged_photos.allow_tagged(options), options)):
        if parts.object_attributes:
            appearance = parts.learned.state.appearance.mean[: factors.objects]
            photos = split_by_photo(batch.stacked.groups, batch.stacked.X, log_odds)
            described = [
                describe_objects(
                    parts.object_attributes, predictor.calibration.attributes, appearance, *photo
                ).by_region
                for photo in photos
            ]
            allowed = tagged_photos.tags.attributes[batch.photo_range][batch.stacked.groups]
            log_odds[:, columns] = np.where(allowed, logit(np.concatenate(described)), -np.inf)
        yield find_top_regions(log_odds, batch.stacked.groups, batch.photo_range.start)


def _learn_space(tagged_photos: _TaggedPhotos, options: TrainOptions) -> FeatureSpace:
    """The transforms of features, learned from a random sample of regions from all photos."""
    if options.memory is not None:
        width = tagged_photos.photos[0].features.shape[1]
        n_sampled = min(EMBEDDING_SAMPLE, int(tagged_photos.sizes.sum()))
        leave_room(options.memory, width * (10 * n_sampled + 12 * width), "the sample of regions")
    sample = _sample_regions(tagged_photos, options).features
    views = learn_views(tagged_photos.photos[0].blocks, sample, photo_effect=options.photo_effect)
    length = min(LENGTH, sample.shape[1])
    projection = learn_projection(normalise_features(sample, views), length)
    return FeatureSpace(Embedding(views, projection), learn_standard_projection(sample, length))


class _RegionSample(NamedTuple):
    """A random sample of n regions."""

    features: Array  # (n, width)
    photo: Ints  # (n,)
    area: Floats  # (n,) fraction of the photo


def _sample_regions(tagged_photos: _TaggedPhotos, options: TrainOptions) -> _RegionSample:
    """About EMBEDDING_SAMPLE regions from all photos."""
    rng = np.random.default_rng(options.seed)
    rate = min(1.0, EMBEDDING_SAMPLE / int(tagged_photos.sizes.sum()))
    features, area, n_drawn = list[Array](), list[Floats](), list[int]()
    for photo in tagged_photos.photos:  # one at a time: they may be on disk
        drawn = rng.random(len(photo.features)) < rate
        features.append(photo.features[drawn])
        area.append(photo.area[drawn] / photo.area.sum())
        n_drawn.append(int(drawn.sum()))
    return _RegionSample(np.concatenate(features), np.repeat(np.arange(len(n_drawn)), n_drawn), np.concatenate(area))


def _choose_by_coverage(tagged_photos: _TaggedPhotos, space: FeatureSpace, options: TrainOptions) -> TrainOptions:
    """The options with a number of free factors and a start, which depend on whether tags cover the photos.

    Unless they are given, there are N_BACKGROUND free factors and the start is `tags`. Where tags cover the photos
    there are none, and the start is `activation`: with the same start in all of a photo's regions, an object that is
    tagged in most photos would begin with the mean of all regions as its appearance, and would lose its regions to
    rarer objects.
    """
    if options.n_free is not None and options.start is not None:
        return options
    features, photo, area = _sample_regions(tagged_photos, options)
    vectors = InMemoryRows(project_to_unit_length(features, space.embedding))
    background = has_background_class(vectors, photo, area, tagged_photos.tags.objects)
    n_free, start = (N_BACKGROUND, "tags") if background else (0, "activation")
    return replace(
        options,
        n_free=n_free if options.n_free is None else options.n_free,
        start=options.start or start,
    )


def _plan_batches(tagged_photos: _TaggedPhotos, space: FeatureSpace, context: _FitContext) -> _FitContext:
    """The context with batches as long as memory allows; the length in a checkpoint is kept."""
    if context.options.memory is None:
        return context
    _compile_kernels(tagged_photos, space, context)
    plan = context.checkpoint and context.checkpoint.load_result("batches", BatchPlan)
    if plan is None:
        allowed = _allow(tagged_photos.allow_tagged(context.options), context.options)
        plan = BatchPlan(plan_length(context.options.memory, tagged_photos.sizes, allowed, space.length))
        if context.checkpoint:
            context.checkpoint.save_result("batches", plan)
    return context._replace(length=plan.length)


def _compile_kernels(tagged_photos: _TaggedPhotos, space: FeatureSpace, context: _FitContext) -> None:
    """Fit a few photos, so that the memory that compilers never release is taken before batches are planned."""
    few = tagged_photos.select(np.arange(len(tagged_photos.photos)) < WARM_UP_PHOTOS)
    batches = InMemoryBatches(few.photos, space)
    context = context._replace(report=no_progress, checkpoint=None)
    few_tags = few.allow_tagged(context.options)
    learned, _ = _fit_model(batches, few_tags, few.tags.attributes.shape[1], space.length, context, "compiling")
    for _ in infer_batches(batches, learned, _allow(few_tags, context.options)):
        pass


def _fit_parts(
    tagged_photos: _TaggedPhotos, batches: PhotoBatches, space: FeatureSpace, context: _FitContext, name: str
) -> tuple[FittedParts, tuple[float, ...]]:
    """The fitted parts, and the model's bound after each sweep.

    Region classifiers are trained with a localisation model, which has no attribute factors: attribute factors would
    absorb variance that should go to the object factor, so objects would be localised less well. Without attribute tags
    it is the model itself. Without object tags there are no region classifiers.
    """
    options = context.options
    objects, attributes = tagged_photos.tags
    tagged = tagged_photos.allow_tagged(options)
    learned, bound = _fit_model(batches, tagged, attributes.shape[1], space.length, context, name)
    parts = FittedParts(learned)
    if options.attributes_of != "regions":
        object_attributes = fit_object_attributes(
            batches, learned, tagged_photos.tags, _allow(tagged, options), options.attribute_prior
        )
        parts = parts._replace(object_attributes=object_attributes)
    if options.photo_prior is not None:
        covered = measure_objects(batches, learned, _allow(tagged, options))
        photo_prior = fit_photo_prior(tagged_photos.photos, objects, covered, space.standard, options.photo_prior)
        parts = parts._replace(photo_prior=photo_prior)
    parts = parts._replace(smoothing=float(options.smoothing))
    if options.classifiers and objects.shape[1]:
        localisation_model = learned
        if attributes.shape[1]:
            localisation_model, _ = _fit_model(batches, objects, 0, space.length, context, f"{name} localisation")
        n_regions = int(tagged_photos.sizes.sum())
        data = BatchedTrainingData(batches, space, localisation_model, _allow(objects, options), n_regions)
        parts = parts._replace(classifiers=fit_classifiers(data, tagged_photos.tags, options.weights))
    return parts, bound


def _fit_model(
    batches: PhotoBatches, tags: Array, n_attributes: int, D: int, context: _FitContext, name: str
) -> tuple[FittedModel, tuple[float, ...]]:
    """A fitted model of regions, and its bound after each sweep."""
    options = context.options
    settings = Settings(
        Factors(tags.shape[1] - n_attributes, n_attributes, _count_free(options)),
        float(options.coupling),
        float(options.affinity),
        options.learn_affinity,
        options.centred,
        noise=options.noise,
        exclusive=options.exclusive,
        shrinkage=options.shrinkage,
        attribute_shrinkage=options.attribute_shrinkage,
    )

    def report(sweep: Sweep) -> None:
        context.report(name, sweep.number, MAX_SWEEPS)

    loop = Loop(MAX_SWEEPS, TOL, report)
    assert options.start is not None  # `_choose_by_coverage` has chosen it
    spec = FitSpec(D, settings, loop, start_affinity(tags, settings), options.start, options.seed)
    checkpoint = context.checkpoint and context.checkpoint.fit(name.replace(" ", "-"))
    fit = checkpoint and checkpoint.load_fit()
    fit = fit or batches.fit(spec, _allow(tags, options), target=options.target, checkpoint=checkpoint)
    return FittedModel(fit.state, fit.summary, settings), tuple(sweep.bound.total for sweep in fit.sweeps)


def _allow(tags: Array, options: TrainOptions) -> Array:
    """(I, K) the factors that each photo allows: those of its tags, and the free ones."""
    return np.hstack([tags, np.ones((len(tags), _count_free(options)), np.uint8)])


def _count_free(options: TrainOptions) -> int:
    assert options.n_free is not None  # `_choose_by_coverage` has chosen it
    return options.n_free


def _calibrate(tagged_photos: _TaggedPhotos, space: FeatureSpace, context: _FitContext) -> HeldOutFit:
    """Fit on most photos and calibrate on the others, or load the result from the checkpoint."""
    checkpoint = context.checkpoint
    stored = checkpoint and checkpoint.load_result("calibration", HeldOutFit)
    if stored:
        return stored
    held_out = np.random.default_rng(context.options.seed).random(len(tagged_photos.photos)) < HELD_OUT
    rest, others = tagged_photos.select(~held_out), tagged_photos.select(held_out)
    parts, _ = _fit_parts(rest, context.make_batches(rest, space, "calibrating"), space, context, "calibrating")
    batches = context.make_batches(others, space, "held-out")
    if parts.classifiers:
        result = calibrate_classifiers(batches, others.tags, space, parts.classifiers)
    else:
        result = calibrate_posteriors(batches, others.tags, parts)
    if checkpoint:
        checkpoint.save_result("calibration", result)
    context.remove_batches("calibrating", "held-out")
    return result
