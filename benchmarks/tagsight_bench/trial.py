"""A source as arrays: training and test samples."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from tagsight.data.vocabulary import Vocabulary, tag_matrix
from tagsight.demo.mask_measures import VOID
from tagsight.errors import InputError
from tagsight.features.extract import extract
from tagsight.features.extractor import ExtractorConfig
from tagsight.features.photo_features import PhotoFeatures
from tagsight.runtime.progress import Report
from tagsight.types import Array
from tagsight_bench.evaluation.method import Tags
from tagsight_bench.evaluation.truth import Instances
from tagsight_bench.sources.source import Source, TruePhoto


class Sample(NamedTuple):
    """Photos with their tags and ground truth."""

    photos: tuple[PhotoFeatures, ...]
    tags: Tags
    instances: tuple[Instances, ...]
    masks: tuple[Array | None, ...]  # (H, W) labels, VOID for unlabelled pixels; None: no mask
    paths: tuple[Path, ...]


class Trial(NamedTuple):
    """The training and test samples with one vocabulary."""

    vocabulary: Vocabulary
    train: Sample
    test: Sample


class ExtractedSource(NamedTuple):
    """A source with the features of its photos."""

    source: Source
    train: tuple[PhotoFeatures, ...]
    test: tuple[PhotoFeatures, ...]


def extract_source(
    source: Source, extractor_config: ExtractorConfig, report: Report, stage: str, *, n_workers: int | None = None
) -> ExtractedSource:
    """Extract the features of all photos, or read them from the cache; InputError for an unreadable photo."""
    paths = [photo.path for photo in (*source.train, *source.test)]
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        report(stage, done, len(paths))

    extraction = extract(paths, extractor_config, n_workers=n_workers, on_photo=count)
    if extraction.problems:
        first = extraction.problems[0]
        raise InputError(f"{str(first.path)!r} cannot be used ({first.reason}), and a benchmark needs every photo")
    photos = tuple(extraction.load())
    n = len(source.train)
    return ExtractedSource(source, photos[:n], photos[n:])


def make_trial(extracted: ExtractedSource, n_attributes: int) -> Trial:
    """The trial with the attribute set of a size."""
    source = extracted.source
    if n_attributes not in source.attribute_sets:
        known = ", ".join(map(str, source.attribute_sets))
        raise InputError(f"there is no set of {n_attributes} attributes; choose one of {known}")
    vocabulary = Vocabulary(source.vocabulary.objects, source.attribute_sets[n_attributes])
    return Trial(
        vocabulary,
        _make_sample(source.train, extracted.train, vocabulary, source.void),
        _make_sample(source.test, extracted.test, vocabulary, source.void),
    )


def _make_sample(
    known: Sequence[TruePhoto], photos: tuple[PhotoFeatures, ...], vocabulary: Vocabulary, void: int
) -> Sample:
    tags = tag_matrix(known, vocabulary)
    n = len(vocabulary.objects)
    return Sample(
        photos,
        Tags(tags[:, :n], tags[:, n:]),
        tuple(locate_instances(photo, vocabulary) for photo in known),
        tuple(photo.mask and _read_mask(photo.mask, void) for photo in known),
        tuple(photo.path for photo in known),
    )


def locate_instances(photo: TruePhoto, vocabulary: Vocabulary) -> Instances:
    """The boxes of a photo as columns of a vocabulary."""
    tags = tag_matrix(photo.boxes, vocabulary)
    n = len(vocabulary.objects)
    boxes = np.array([one.box for one in photo.boxes], np.int64).reshape(-1, 4)
    return Instances(tags[:, :n].argmax(axis=1), boxes, tags[:, n:])


def _read_mask(path: Path, void: int) -> Array:
    try:
        with Image.open(path) as image:
            mask = np.array(image)
    except OSError as error:
        raise InputError(f"the mask {str(path)!r} cannot be read: {error}") from error
    return np.where(mask == void, VOID, mask).astype(np.uint8)
