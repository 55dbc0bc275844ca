"""From a collection of tagged photos to a trained model."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from tagsight.data.collection import Collection, Problem
from tagsight.data.photo import read_photo
from tagsight.data.vocabulary import Tags, tag_matrix
from tagsight.engine.devices import check_device
from tagsight.errors import InputError, UnreadablePhotoError
from tagsight.exemplars import pick_exemplars
from tagsight.features.classic import choose_photos, learn_codebook
from tagsight.features.described import N_REGIONS
from tagsight.features.describer import Recipe, open_describer
from tagsight.features.extract import Extraction, extract
from tagsight.fitting import FitOptions, fit_photos
from tagsight.progress import Report, stay_silent
from tagsight.regions import segment_photo
from tagsight.trained import TrainedModel, Training
from tagsight.types import Array


class TrainOptions(NamedTuple):
    """What a user may choose."""

    features: str = "deep"
    n_free: int = 20
    coupling: float = 1.0
    affinity: float = 1.0
    n_regions: int = N_REGIONS
    seed: int = 0
    n_workers: int | None = None
    device: str = "cpu"  # where the model sweeps; see StackedIBP
    readout: bool = True  # False: the model's posterior alone answers

    @property
    def fit_options(self) -> FitOptions:
        """Those that concern the fit."""
        return FitOptions(self.n_free, self.coupling, self.affinity, self.readout, self.device, self.seed)


class Outcome(NamedTuple):
    """A trained model, and the photos that could not be used."""

    model: TrainedModel
    problems: tuple[Problem, ...]
    seconds: dict[str, float]  # of each stage


def train(collection: Collection, options: TrainOptions, report: Report = stay_silent) -> Outcome:
    """Describe the photos, fit the model to their tags, calibrate it, and keep the clearest examples."""
    check_device(options.device)  # now, not after an hour of describing photos
    clock = _Clock()
    with clock.stage("codebook"):
        recipe = make_recipe(collection, options, report)
    with clock.stage("features"):
        extraction = _describe(collection, recipe, options, report)
    photos = list(extraction.load())
    tagged = {photo.path: photo for photo in collection.photos}
    matrix = tag_matrix([tagged[path] for path in extraction.photos], collection.vocabulary)
    tags = Tags(*np.hsplit(matrix, [len(collection.vocabulary.objects)]))
    with clock.stage("model"):
        fitted = fit_photos(photos, open_describer(recipe).blocks, tags, options.fit_options, report)
    with clock.stage("examples"):
        groups = np.repeat(np.arange(len(photos)), [len(photo.features) for photo in photos])
        exemplars = pick_exemplars(fitted.log_odds, groups, extraction.photos, photos)
    training = Training(len(photos), options.seed, fitted.bound)
    return Outcome(
        TrainedModel(
            collection.vocabulary,
            recipe,
            options.n_regions,
            fitted.views,
            fitted.projection,
            fitted.learned,
            fitted.readout,
            fitted.objects,
            fitted.attributes,
            exemplars,
            training,
        ),
        extraction.problems,
        clock.seconds,
    )


class _Clock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start


def make_recipe(collection: Collection, options: TrainOptions, report: Report) -> Recipe:
    """How to describe photos; classic features learn their codebook from the collection first."""
    if options.features != "classic":
        return Recipe(options.features)
    pick = choose_photos(len(collection.photos), seed=options.seed)
    paths = [collection.photos[i].path for i in pick]

    def read() -> Iterator[tuple[Array, Array]]:
        for number, path in enumerate(paths):
            report("learning the codebook", number, len(paths))
            try:
                pixels = read_photo(path).pixels
            except UnreadablePhotoError:
                continue  # reported by the extraction, which meets it too
            yield pixels, segment_photo(pixels, options.n_regions).labels

    return Recipe("classic", learn_codebook(read(), seed=options.seed))


def _describe(collection: Collection, recipe: Recipe, options: TrainOptions, report: Report) -> Extraction:
    paths = [photo.path for photo in collection.photos]
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        report("describing photos", done, len(paths))

    extraction = extract(paths, recipe, n_regions=options.n_regions, n_workers=options.n_workers, on_photo=count)
    if not extraction.photos:
        first = extraction.problems[0]
        raise InputError(f"none of the {len(paths)} photos can be read (first: {first.path.name!r}: {first.reason})")
    return extraction
<<<<<<< HEAD
=======


def _learn_projection(photos: list[DescribedPhoto], seed: int) -> Projection:
    """Principal components of a seeded sample of regions, evenly from all photos."""
    rng = np.random.default_rng(seed)
    share = min(1.0, SAMPLE / sum(len(photo.features) for photo in photos))
    picked = [photo.features[rng.random(len(photo.features)) < share] for photo in photos]
    sample = np.concatenate(picked).astype(np.float32)
    return learn_projection(sample, min(LENGTH, sample.shape[1]))


def _fit(
    stacked: Stacked, tags: Array, collection: Collection, options: TrainOptions, report: Report, stage: str
) -> StackedIBP:
    vocabulary = collection.vocabulary
    model = StackedIBP(
        len(vocabulary.objects),
        len(vocabulary.attributes),
        options.n_free,
        coupling=options.coupling,
        affinity=options.affinity,
        device=options.device,
        seed=options.seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the report shows the bound's curve
        return model.fit(
            stacked.X,
            tags,
            groups=stacked.groups,
            edges=stacked.edges.pairs,
            edge_weights=stacked.edges.weight,
            on_sweep=lambda sweep: report(stage, sweep.number, model.max_sweeps),
        )


def _calibrate(
    stacked: Stacked, tags: Array, collection: Collection, options: TrainOptions, report: Report
) -> tuple[Calibration, Calibration]:
    """Fit a model to most photos and compare what it says of the others with their tags."""
    if len(tags) < FEWEST_TO_HOLD_OUT:
        return UNCALIBRATED, UNCALIBRATED
    held_out = np.random.default_rng(options.seed).random(len(tags)) < HELD_OUT
    kept, _ = _subset(stacked, ~held_out)
    model = _fit(kept, tags[~held_out], collection, options, report, "calibrating")
    rest, photo_of = _subset(stacked, held_out)
    learned: Learned = model._learned
    allowed = np.ones((int(held_out.sum()), learned.settings.factors.total), np.uint8)
    seen = infer_photos(learned, NewPhotos(*rest, allowed))
    strongest = np.full((len(allowed), tags.shape[1]), -np.inf)
    np.maximum.at(strongest, photo_of, seen.log_odds[:, : tags.shape[1]])
    truth = tags[held_out]
    n_objects = len(collection.vocabulary.objects)
    return (
        fit_calibration(strongest[:, :n_objects].ravel(), truth[:, :n_objects].ravel()),
        fit_calibration(strongest[:, n_objects:].ravel(), truth[:, n_objects:].ravel()),
    )


def _subset(stacked: Stacked, photos: Array) -> tuple[Stacked, Array]:
    """The regions of some photos (a mask), renumbered; and the photo of each."""
    mine = photos[stacked.groups]
    place = np.cumsum(mine) - 1
    number = np.cumsum(photos) - 1
    inside = mine[stacked.edges.pairs[:, 0]]
    edges = stacked.edges._replace(pairs=place[stacked.edges.pairs[inside]], weight=stacked.edges.weight[inside])
    groups = number[stacked.groups[mine]]
    return Stacked(stacked.X[mine], groups, edges), groups
>>>>>>> gpu
