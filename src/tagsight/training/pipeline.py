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
    """Where a training keeps what is done, and whether it goes on from what lies there."""

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
    """Describe the photos, fit the model to their tags, calibrate it, and keep the clearest examples."""
    clock = _Clock()
    check_options(options)
    if not any(photo.objects or photo.attributes for photo in collection.photos):
        raise InputError(f"no photo of {collection.name!r} has a tag, so no word can be learned: add tags")
    check_device(options.device)  # now, not after an hour of describing photos
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
    """What a checkpoint must be of to go on: the settings by name, and the data by their content."""
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
    """How to describe photos; classic features learn their codebook from the collection first."""
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
                continue  # reported by the extraction, which meets it too
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
        report("describing photos", done, len(paths))

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
