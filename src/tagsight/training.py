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
from tagsight.features.describer import Recipe
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
    device: str = "cpu"  # where the built-in network runs and the model sweeps; see StackedIBP
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
        fitted = fit_photos(photos, tags, options.fit_options, report)
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

    extraction = extract(
        paths,
        recipe,
        n_regions=options.n_regions,
        n_workers=options.n_workers,
        on_photo=count,
        device=options.device,
    )
    if not extraction.photos:
        first = extraction.problems[0]
        raise InputError(f"none of the {len(paths)} photos can be read (first: {first.path.name!r}: {first.reason})")
    return extraction
