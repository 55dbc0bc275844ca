"""From described photos and their tags to something that looks: model, readers, calibration."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from tagsight.blas import one_blas_thread
from tagsight.calibration import UNCALIBRATED, Calibration
from tagsight.course import PhotoCourse, learn_attributes, look_through
from tagsight.data.vocabulary import Tags
from tagsight.engine.devices import Where
from tagsight.engine.inference import Learned
from tagsight.engine.learn import Lesson
from tagsight.errors import InputError
from tagsight.features.codebook import Projection, learn_projection, learn_standard_projection
from tagsight.features.described import DescribedPhoto
from tagsight.features.views import Views, learn_views, see_directions
from tagsight.held_out import Comparison, compare_posteriors, compare_readings
from tagsight.memory import leave_room
from tagsight.model.fields import start_affinity
from tagsight.model.fit import Loop
from tagsight.model.object_attributes import ObjectAttributes
from tagsight.model.settings import NOISES, Factors, Settings, check_shrinkage
from tagsight.model.start import STARTS
from tagsight.photo_attributes import AS_MODELLED, describe_objects, split_photos
from tagsight.photo_prior import PhotoPrior, learn_photo_prior
from tagsight.photo_runs import Chosen, HeldRuns, PhotoRuns, Space, StoredRuns, plan_length
from tagsight.progress import Report, stay_silent
from tagsight.readout.learn import Readout, learn_readout
from tagsight.readout.weights import Weights
from tagsight.spots import Spots, find_spots, merge_spots
from tagsight.storage.checkpoint import Checkpoint
from tagsight.types import Array, Ints
from tagsight.validation import check_between, check_choice

LENGTH = 256  # of a region's vector after projection
SAMPLE = 20_000  # regions that views and projection are learned from
HELD_OUT = 0.2  # of the photos, to calibrate on
FEWEST_TO_HOLD_OUT = 50  # photos below which nothing is held out
STRONGEST_PRIOR = 1e6  # of photos upon regions
ATTRIBUTES_OF = ("regions", "objects")
FEW = 8  # photos enough to compile the kernels
MAX_SWEEPS, TOL = 200, 1e-6  # the report shows the bound's curve, settled or not


class FitOptions(NamedTuple):
    """What may be chosen about the fit."""

    n_free: int = 20
    coupling: float = 1.0
    affinity: float = 1.0
    learn_affinity: bool = True  # False: M stays what the tags say
    centred: bool = False  # see `model.fields`
    noise: str = "isotropic"  # see `model.noise`
    exclusive: bool = False  # at most one object or free factor is on in a region
    shrinkage: float | None = None  # of appearances, in regions; see `model.settings.Settings`
    attribute_shrinkage: float | None = None
    start: str = "tags"  # one of `model.start.STARTS`
    photo_effect: float = 0.0  # see `trained.embed`
    attributes_of: str = "regions"  # or "objects"; see `model.object_attributes`
    photo_prior: float | None = (
        None  # how much regions heed what photos are as wholes; None: unasked; see `photo_prior`
    )
    readout: bool = True  # False: the model's posterior alone
    weights: Weights = Weights()  # of the readers' parts
    device: str = "cpu"  # where the model sweeps; see StackedIBP
    seed: int = 0
    memory: int | None = None  # bytes this process may hold; None: as many as it takes
    engine: str = "local"  # see StackedIBP
    n_actors: int | None = None  # of engine "ray"; None: one a processor

    @property
    def where(self) -> Where:
        """Where the model sweeps."""
        return Where(self.device, self.engine, self.n_actors)


class Fitted(NamedTuple):
    """What looks (see `trained.Sight`), and where in the training photos each factor is strongest."""

    views: Views
    projection: Projection
    learned: Learned
    object_attributes: ObjectAttributes | None
    photo_prior: PhotoPrior | None
    readout: Readout | None
    objects: Calibration
    attributes: Calibration
    spots: Spots  # under the photos' tags
    bound: tuple[float, ...]  # after each sweep


class _Taught(NamedTuple):
    learned: Learned
    object_attributes: ObjectAttributes | None
    photo_prior: PhotoPrior | None
    readout: Readout | None
    bound: tuple[float, ...]


class _Lot(NamedTuple):
    """Photos with the number of their regions and their tags."""

    photos: Sequence[DescribedPhoto]
    sizes: Ints
    tags: Tags

    def choose(self, mine: Array) -> "_Lot":
        tags = Tags(self.tags.objects[mine], self.tags.attributes[mine])
        return _Lot(Chosen(self.photos, np.flatnonzero(mine)), self.sizes[mine], tags)


class _Desk(NamedTuple):
    """How to work: what was chosen, who is told, and where things are kept."""

    options: FitOptions
    report: Report
    checkpoint: Checkpoint | None
    folder: Path | None  # for what memory has no room for
    length: int = 0  # photos of a run in that folder

    def lay_out(self, lot: _Lot, space: Space, name: str) -> PhotoRuns:
        if self.folder is None:
            return HeldRuns(lot.photos, space)
        return StoredRuns(lot.photos, lot.sizes, space, self.folder / name, self.length)

    def clear(self, *names: str) -> None:
        if self.folder is not None:
            for name in names:
                shutil.rmtree(self.folder / name)


@one_blas_thread()
def fit_photos(
    photos: Sequence[DescribedPhoto],
    tags: Tags,
    options: FitOptions | None = None,
    report: Report = stay_silent,
    checkpoint: Checkpoint | None = None,
) -> Fitted:
    """Fit model and readers to photos; first to most of them, to calibrate on the others.

    What is done is kept in `checkpoint`, and taken from there. A budget (`options.memory`) does not change the answer;
    under one, `photos` should not be in memory themselves (see `features.extract.CachedPhotos`).
    """
    options = options or FitOptions()
    check_choice(options.noise, "noise", NOISES)
    check_choice(options.start, "start", tuple(STARTS))
    check_shrinkage(options.shrinkage, options.attribute_shrinkage)
    check_model_alone(options)
    with ExitStack() as stack:
        folder = None
        if options.memory is not None:
            check_budget(options)
            folder = checkpoint.work if checkpoint else Path(stack.enter_context(TemporaryDirectory()))
        sizes = np.array([len(photo.features) for photo in photos])
        return _fit_photos(_Lot(photos, sizes, tags), _Desk(options, report, checkpoint, folder))


def check_model_alone(options: FitOptions) -> None:
    """Raise InputError for what is out of range, or does not go with region classifiers.

    Those expect vectors of unit length, and answer for attributes themselves.
    """
    check_between(options.photo_effect, "photo_effect", 0, 1)
    check_choice(options.attributes_of, "attributes_of", ATTRIBUTES_OF)
    if options.photo_prior is not None:
        check_between(options.photo_prior, "photo_prior", 0, STRONGEST_PRIOR)
    for name in ("photo_effect", "attributes_of", "photo_prior"):
        value = getattr(options, name)
        if options.readout and value != FitOptions._field_defaults[name]:
            raise InputError(
                f"{name} {value} is for a model without region classifiers: set readout=False "
                f"(--preset of 'tagsight train' does), or leave {name} out"
            )


def check_budget(options: FitOptions) -> None:
    """Raise InputError where the budget cannot be kept."""
    if options.memory is not None and options.device != "cpu":
        raise InputError(f"memory is a budget for device 'cpu'; {options.device!r} holds all features: leave one out")
    if options.memory is not None and options.engine != "local":
        raise InputError(f"memory is a budget of this machine; engine {options.engine!r} has others: leave one out")


def _fit_photos(lot: _Lot, desk: _Desk) -> Fitted:
    space = _learn_space(lot, desk.options)
    desk = _plan_runs(lot, space, desk)
    held_out = _compare_once(lot, space, desk) if len(lot.photos) >= FEWEST_TO_HOLD_OUT else None
    runs = desk.lay_out(lot, space, "learning")
    taught = _teach(lot, runs, space, desk, "learning")
    bias, objects, attributes = held_out or Comparison(
        attributes=AS_MODELLED if taught.object_attributes else UNCALIBRATED
    )
    readout = taught.readout and taught.readout._replace(bias=bias)
    spots = merge_spots(list(_find_spots(lot, runs, taught, attributes, desk.options)))
    return Fitted(
        space.views,
        space.projection,
        taught.learned,
        taught.object_attributes,
        taught.photo_prior,
        readout,
        objects,
        attributes,
        spots,
        taught.bound,
    )


def _find_spots(
    lot: _Lot, runs: PhotoRuns, taught: _Taught, calibration: Calibration, options: FitOptions
) -> Iterator[Spots]:
    """Of each run, under the photos' tags."""
    factors = taught.learned.settings.factors
    here = slice(factors.objects, factors.tagged)
    for run, log_odds in look_through(runs, taught.learned, _allow(_as_factors(lot.tags, options), options)):
        if taught.object_attributes:
            appearance = taught.learned.state.appearance.mean[: factors.objects]
            photos = split_photos(run.stacked.groups, run.stacked.X, log_odds)
            described = [
                describe_objects(taught.object_attributes, calibration, appearance, *photo).of_regions
                for photo in photos
            ]
            may = lot.tags.attributes[run.here][run.stacked.groups]
            log_odds[:, here] = np.where(may, logit(np.concatenate(described)), -np.inf)
        yield find_spots(log_odds, run.stacked.groups, run.here.start)


def _learn_space(lot: _Lot, options: FitOptions) -> Space:
    """Views and principal components of a seeded sample of regions, evenly from all photos."""
    rng = np.random.default_rng(options.seed)
    share = min(1.0, SAMPLE / int(lot.sizes.sum()))
    first = lot.photos[0]
    if options.memory is not None:
        width = first.features.shape[1]
        leave_room(
            options.memory, width * (10 * min(SAMPLE, int(lot.sizes.sum())) + 12 * width), "the sample of regions"
        )
    sample = np.concatenate([photo.features[rng.random(len(photo.features)) < share] for photo in lot.photos])
    views = learn_views(first.blocks, sample, photo_effect=options.photo_effect)
    length = min(LENGTH, sample.shape[1])
    return Space(
        views, learn_projection(see_directions(sample, views), length), learn_standard_projection(sample, length)
    )


def _plan_runs(lot: _Lot, space: Space, desk: _Desk) -> _Desk:
    """Runs as long as the budget allows; a checkpoint's shards stay as they were cut."""
    if desk.options.memory is None:
        return desk
    _compile_kernels(lot, space, desk)
    length = desk.checkpoint and desk.checkpoint.load_result("length")
    if length is None:
        allowed = _allow(_as_factors(lot.tags, desk.options), desk.options)
        length = plan_length(desk.options.memory, lot.sizes, allowed, space.length)
        if desk.checkpoint:
            desk.checkpoint.keep_result("length", length)
    return desk._replace(length=length)


def _compile_kernels(lot: _Lot, space: Space, desk: _Desk) -> None:
    """Fit a few photos: compilers do not give back what memory they take, so they take it before plans are made."""
    few = lot.choose(np.arange(len(lot.photos)) < FEW)
    runs = HeldRuns(few.photos, space)
    desk = desk._replace(report=stay_silent, checkpoint=None)
    few_tags = _as_factors(few.tags, desk.options)
    learned, _ = _fit_model(runs, few_tags, few.tags.attributes.shape[1], space.length, desk, "compiling")
    for _ in look_through(runs, learned, _allow(few_tags, desk.options)):
        pass


def _teach(lot: _Lot, runs: PhotoRuns, space: Space, desk: _Desk, stage: str) -> _Taught:
    """The model, and the readers taught by a model of objects alone.

    With attributes to explain what objects look like, objects are switched off where the attributes suffice, and are
    located worse; so the readers learn from a model that has none. Where no photo is tagged with an object, there is
    nothing to locate, and the model alone answers.
    """
    objects, attributes = lot.tags
    as_factors = _as_factors(lot.tags, desk.options)
    learned, bound = _fit_model(runs, as_factors, attributes.shape[1], space.length, desk, stage)
    object_attributes = None
    if desk.options.attributes_of == "objects":
        object_attributes = learn_attributes(runs, learned, lot.tags, _allow(as_factors, desk.options))
    photo_prior = None
    if desk.options.photo_prior is not None:
        photo_prior = learn_photo_prior(lot.photos, objects, space.standard, desk.options.photo_prior)
    readout = None
    if desk.options.readout and objects.shape[1]:
        locator = learned
        if attributes.shape[1]:
            locator, _ = _fit_model(runs, objects, 0, space.length, desk, f"{stage} where objects are")
        course = PhotoCourse(runs, space, locator, _allow(objects, desk.options), int(lot.sizes.sum()))
        readout = learn_readout(course, lot.tags, desk.options.weights)
    return _Taught(learned, object_attributes, photo_prior, readout, bound)


def _fit_model(
    runs: PhotoRuns, tags: Array, n_attributes: int, D: int, desk: _Desk, stage: str
) -> tuple[Learned, tuple[float, ...]]:
    """A fitted model, and the bound after each sweep."""
    options = desk.options
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
    loop = Loop(MAX_SWEEPS, TOL, lambda sweep: desk.report(stage, sweep.number, MAX_SWEEPS))
    lesson = Lesson(D, settings, loop, start_affinity(tags, settings), options.start, options.seed)
    kept = desk.checkpoint and desk.checkpoint.fit(stage.replace(" ", "-"))
    fit = kept and kept.load_fit()
    fit = fit or runs.learn(lesson, _allow(tags, options), where=options.where, checkpoint=kept)
    return Learned(fit.state, fit.summary, settings), tuple(sweep.bound.total for sweep in fit.sweeps)


def _as_factors(tags: Tags, options: FitOptions) -> Array:
    """(I, K_o + K_a) the tagged factors that regions of each photo may have: no attributes where objects have those."""
    return np.hstack([tags.objects, tags.attributes * np.uint8(options.attributes_of == "regions")])


def _allow(tags: Array, options: FitOptions) -> Array:
    """(I, K) the factors of each photo: its tags, and the free ones."""
    return np.hstack([tags, np.ones((len(tags), options.n_free), np.uint8)])


def _compare_once(lot: _Lot, space: Space, desk: _Desk) -> Comparison:
    """Teach most photos, and compare with the others; from the checkpoint if it was done."""
    checkpoint = desk.checkpoint
    kept = checkpoint and checkpoint.load_result("calibration")
    if kept:
        bias, objects, attributes = kept
        return Comparison(bias, Calibration(*objects), Calibration(*attributes))
    held_out = np.random.default_rng(desk.options.seed).random(len(lot.photos)) < HELD_OUT
    rest, others = lot.choose(~held_out), lot.choose(held_out)
    taught = _teach(rest, desk.lay_out(rest, space, "calibrating"), space, desk, "calibrating")
    runs = desk.lay_out(others, space, "held-out")
    if taught.readout:
        found = compare_readings(runs, others.tags, space, taught.readout)
    else:
        found = compare_posteriors(runs, others.tags, taught.learned, taught.object_attributes, taught.photo_prior)
    if checkpoint:
        checkpoint.keep_result("calibration", found)
    desk.clear("calibrating", "held-out")
    return found
