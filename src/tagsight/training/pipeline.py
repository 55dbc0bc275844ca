"""From a collection of tagged photos to a trained model."""

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.data.collection import Collection, Problem
from tagsight.data.photo import read_photo
from tagsight.data.vocabulary import Tags, Vocabulary, tag_matrix
from tagsight.engine.checkpoint import Identity, open_checkpoint
from tagsight.engine.devices import check_device, check_engine, open_engine
from tagsight.errors import InputError, UnreadablePhotoError
from tagsight.features.classic import choose_photos, learn_codebook
from tagsight.features.extract import Extraction, MapFunction, extract
from tagsight.features.extractor import ExtractorConfig, pin_extractor
from tagsight.predict.trained_model import TrainedModel, Training
from tagsight.regions import segment_photo
from tagsight.runtime.interrupts import Stop, check_stop
from tagsight.runtime.progress import Report, no_progress
from tagsight.training.examples import crop_examples
from tagsight.training.fit import fit_photos
from tagsight.training.options import TrainOptions, check_options
from tagsight.types import Array

NOT_IDENTIFYING = ("n_workers", "engine", "address")  # options that change the result by rounding at most


class CheckpointOptions(NamedTuple):
    """The folder of the checkpoint, and whether training continues from the one that is there."""

    folder: Path
    resume: bool
    stop: Stop


class Outcome(NamedTuple):
    """A trained model, and the photos that could not be used."""

    model: TrainedModel
    problems: tuple[Problem, ...]
    seconds: dict[str, float]  # of each stage


def train(
    collection: Collection,
    options: TrainOptions,
    report: Report = no_progress,
    checkpointing: CheckpointOptions | None = None,
) -> Outcome:
    """Extract features, fit the model to the tags, calibrate it, and crop example regions."""
    clock = _Clock()
    check_options(options)
    if not any(photo.objects or photo.attributes for photo in collection.photos):
        raise InputError(f"no photo of {collection.name!r} has a tag, so no word can be learned: add tags")
    check_device(options.device)  # before extracting features, which may take an hour
    check_engine(options.engine, options.device)
    with open_engine(options.engine, options.address) as map_fn:
        with clock.stage("codebook"):
            extractor_config = make_extractor_config(collection, options, report)
        with clock.stage("features"):
            extraction = _extract(collection, extractor_config, options, report, map_fn)
        tagged = {photo.path: photo for photo in collection.photos}
        matrix = tag_matrix([tagged[path] for path in extraction.photos], collection.vocabulary)
        tags = Tags(*np.hsplit(matrix, [len(collection.vocabulary.objects)]))
        checkpoint = None
        if checkpointing is not None:
            identity = identify(extraction, collection.vocabulary, matrix, options)
            checkpoint = open_checkpoint(
                checkpointing.folder, identity, resume=checkpointing.resume, stop=checkpointing.stop
            )
        photos = extraction.cached if options.memory else list(extraction.load())
        with clock.stage("model"):
            fitted = fit_photos(photos, tags, options, report, checkpoint)
        with clock.stage("examples"):
            example_crops = crop_examples(fitted.top_regions, extraction.photos, photos)
    training = Training(len(photos), options.seed, fitted.bound, metadata.version("tagsight"))
    model = TrainedModel(
        collection.vocabulary, extractor_config, options.n_regions, fitted.predictor, example_crops, training
    )
    return Outcome(model, extraction.problems, clock.seconds)


def identify(extraction: Extraction, vocabulary: Vocabulary, tags: Array, options: TrainOptions) -> Identity:
    """The identity of a checkpoint: all settings by name, and digests of the data."""
    settings = {**vars(options), "weights": list(options.weights)}
    return {
        **{name: value for name, value in settings.items() if name not in NOT_IDENTIFYING},
        "photos": len(extraction.entries),
        "content of the photos": _digest(place.name for place in extraction.entries),
        "description": extraction.cache.folder.name,
        "vocabulary": _digest([*vocabulary.objects, "", *vocabulary.attributes]),
        "tags": sha256(tags.tobytes()).hexdigest()[:12],
    }


def _digest(words: Iterable[str]) -> str:
    return sha256("\0".join(words).encode()).hexdigest()[:12]


class _Clock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start


def make_extractor_config(collection: Collection, options: TrainOptions, report: Report) -> ExtractorConfig:
    """The configuration of the feature extractor; for classic features the codebook is learned first."""
    if options.features != "classic":
        return pin_extractor(ExtractorConfig(options.features))
    pick = choose_photos(len(collection.photos), seed=options.seed)
    paths = [collection.photos[int(i)].path for i in pick]

    def read() -> Iterator[tuple[Array, Array]]:
        for number, path in enumerate(paths):
            check_stop()
            report("learning the codebook", number, len(paths))
            try:
                pixels = read_photo(path).pixels
            except UnreadablePhotoError:
                continue  # the extraction reports it
            yield pixels, segment_photo(pixels, options.n_regions).labels

    return pin_extractor(ExtractorConfig("classic", learn_codebook(read(), seed=options.seed)))


def _extract(
    collection: Collection,
    extractor_config: ExtractorConfig,
    options: TrainOptions,
    report: Report,
    map_fn: MapFunction | None,
) -> Extraction:
    paths = [photo.path for photo in collection.photos]
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        report("extracting features", done, len(paths))

    extraction = extract(
        paths,
        extractor_config,
        n_regions=options.n_regions,
        n_workers=options.n_workers,
        map_fn=map_fn,
        on_photo=count,
        device=options.device,
    )
    if not extraction.photos:
        first = extraction.problems[0]
        raise InputError(f"none of the {len(paths)} photos can be read (first: {first.path.name!r}: {first.reason})")
    return extraction
