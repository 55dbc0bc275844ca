"""The Python API: train or load a model, then annotate, describe, segment, export and index photos.

>>> import tagsight
>>> model = tagsight.train("photos/")
>>> for photo in model.annotate("new/"):
...     print(photo.path, [(one.name, one.score) for one in photo.objects])
>>> model.segment("a.jpg").overlay().save("outlined.png")
>>> model.index("photos/", "my.index").find("furry brown horse")

An invalid argument or input raises an exception of `tagsight.errors` that states the problem and the remedy. A photo
that cannot be read does not stop the others: it is left out with a `LeftOutWarning`.
"""

import inspect
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field, fields
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypedDict, Unpack

import numpy as np
from PIL import Image

from tagsight.data.collection import Collection, Problem
from tagsight.data.listing import list_photos
from tagsight.data.photo import Photo, convert_image, read_photo
from tagsight.data.summary import find_weaknesses
from tagsight.data.vocabulary import Tags
from tagsight.engine.devices import check_engine, open_engine
from tagsight.errors import InputError, LeftOutWarning, TagsightWarning, UnreadablePhotoError
from tagsight.export import choose_format, write_export
from tagsight.export.output import Target
from tagsight.export.record import ATTRIBUTE_THRESHOLD, ExportedPhoto, find_root, name_photo, record_photo
from tagsight.pictures.factor_page import inline_jpeg
from tagsight.pictures.overlay import SIDE, encode_jpeg, paint_overlay
from tagsight.pictures.palette import LARGEST, encode_palette
from tagsight.predict.annotate import (
    N_ATTRIBUTES,
    N_OBJECTS,
    Box,
    FoundObject,
    annotate_photo,
    describe_object,
    find_object,
)
from tagsight.predict.factors import Factor, list_factors
from tagsight.predict.model_file import load_model, save_model
from tagsight.predict.segment import refine_objects, segment_objects
from tagsight.predict.shipped import locate_model
from tagsight.predict.trained_model import PhotoPredictor, PredictedPhoto, TrainedModel
from tagsight.review.decided import OpenArguments, open_decided
from tagsight.runtime.interrupts import STOP, check_stop
from tagsight.runtime.memory import read_size
from tagsight.runtime.progress import Report, show_progress
from tagsight.training.fit import FEWEST_TO_HOLD_OUT
from tagsight.training.options import TARGET, TrainArguments, TrainOptions
from tagsight.training.pipeline import CheckpointOptions
from tagsight.training.pipeline import train as train_collection
from tagsight.types import Array

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from tagsight.index import BuildResult, Index

PathInput = str | Path
PhotoInput = PathInput | Image.Image | Array
"""A photo: the path of a file, a PIL image, or an array (H, W), (H, W, 3) or (H, W, 4) uint8."""

THUMBNAIL = 320  # pixels of the longer side of a picture beside text, at most


def train(
    photos: PathInput | Collection,
    *,
    preset: str | None = None,
    format: str | None = None,
    split: str | None = None,
    synonyms: PathInput | None = None,
    words: PathInput | None = None,
    images: PathInput | None = None,
    decisions: bool = True,
    journal: PathInput | None = None,
    checkpoint: PathInput | None = None,
    resume: bool = False,
    progress: bool = True,
    **options: Unpack[TrainArguments],
) -> "Model":
    """Train a model on a folder of tagged photos.

    Args:
        photos: the folder of the photos, or its tags file, in any format that `tagsight inspect` knows; or an open
            `Collection`.
        preset: Train a model without region classifiers instead: `ws-mrf-sibp`, or one of the paper's models of
            regions, `ws-sibp` or `additive`. Options that are not given are the preset's.
        format, split, synonyms, words, images: arguments of `tagsight.open_collection`.
        decisions: Apply the decisions of the journal that `tagsight decide` writes: yes adds a tag and no removes one.
        journal: Journal of decisions. Default: `.tagsight/decisions.sqlite` in the folder of the photos, if it exists.
        checkpoint: Folder for checkpoints. Default: none are written.
        resume: Continue from the checkpoint of a stopped training.
        progress: Show progress bars.
        **options: any field of `tagsight.TrainOptions`, such as `features="deep-small"`, `n_free=10` or `seed=1`.

    Warns of photos that were left out, and of tags that are on too few photos.

    >>> model = tagsight.train("photos/", features="deep-small", seed=1)
    """
    chosen = make_options(preset, **options)
    if isinstance(photos, Collection):
        collection = photos
    else:
        reading: OpenArguments = {
            "format": format,
            "split": split,
            "synonyms": synonyms,
            "words": words,
            "images": images,
        }
        collection = open_decided(Path(photos), decisions=decisions, journal=journal, **reading).collection
    for weakness in find_weaknesses(collection, fewest_photos=FEWEST_TO_HOLD_OUT):
        _warn(weakness)
    checkpointing = None if checkpoint is None else CheckpointOptions(Path(checkpoint), resume, STOP)
    with show_progress(progress) as report:
        outcome = train_collection(collection, chosen, report, checkpointing)
    problems = collection.problems + outcome.problems
    _warn_left_out(problems)
    return Model(outcome.model, problems=problems, seconds=outcome.seconds)


def make_options(preset: str | None = None, **options: Unpack[TrainArguments]) -> TrainOptions:
    """The options of a training; InputError for an unknown option."""
    _check_known(options, TrainOptions, "training")
    memory = options.get("memory")
    given: dict[str, Any] = {**options, "memory": read_size(memory)} if isinstance(memory, str) else {**options}
    return TrainOptions(**given) if preset is None else TrainOptions.from_preset(preset, **given)


def _check_known(options: Iterable[str], record: type, task: str) -> None:
    known = [one.name for one in fields(record)]
    for name in options:
        if name not in known:
            raise InputError(f"{task} has no option {name!r}; choose from {', '.join(known)}")


def load(path: PathInput | None = None, *, backbone: PathInput | None = None) -> "Model":
    """Load a model that `Model.save` or `tagsight train` wrote, or a model that the package ships.

    Args:
        path: the model file, or the name of a shipped model, such as `starter`. A file takes precedence over a shipped
            model of the same name. Default: the model `starter`, which knows everyday objects.
        backbone: the present path of the ONNX network that the model was trained with, if that file was moved.

    >>> tagsight.load().segment("a.jpg").overlay().save("outlined.png")
    >>> model = tagsight.load("my.model")
    """
    located = locate_model(None if path is None else Path(path))
    return Model(load_model(located, backbone=None if backbone is None else Path(backbone)))


@dataclass(frozen=True)
class AnnotatedPhoto:
    """The objects of a photo, each with its attributes; `error` if the photo could not be read."""

    path: Path | None
    """Path of the photo; None for an image or an array."""

    objects: tuple[FoundObject, ...]
    """The most probable objects, best first: `name`, `score`, `region`, `box` and `attributes`."""

    error: str | None = None
    """Why the photo could not be read; None if it was read."""

    source: PhotoInput | None = field(default=None, repr=False, compare=False)
    """The photo as it was given."""

    def _repr_html_(self) -> str:
        """The photo and a table of its objects, for notebooks."""
        rows = [
            f"<tr><td>{escape(one.name)}</td><td>{one.score:.2f}</td><td>"
            + ", ".join(f"{escape(attribute.name)} {attribute.score:.2f}" for attribute in one.attributes)
            + "</td></tr>"
            for one in self.objects
        ]
        head = "<tr><th>object</th><th>score</th><th>attributes</th></tr>"
        table = f"<table>{head}{''.join(rows)}</table>" if self.error is None else f"<p>{escape(self.error)}</p>"
        name = "" if self.path is None else f"<figcaption>{escape(str(self.path))}</figcaption>"
        return f"<figure>{self._draw()}{name}{table}</figure>"

    def _draw(self) -> str:
        if self.source is None or self.error is not None:
            return ""
        try:
            pixels = _read(self.source, THUMBNAIL).pixels
        except UnreadablePhotoError:
            return ""  # the file was removed meanwhile
        return f'<img src="{inline_jpeg(encode_jpeg(pixels))}">'


@dataclass(frozen=True)
class Segmentation:
    """The outlines of the objects of a photo."""

    labels: Array
    """(H, W) uint8 label of every pixel of the photo: 0 is background, k the object `names[k]`."""

    names: tuple[str, ...]
    """Names of the labels: background, then the objects of the model."""

    source: PhotoInput = field(repr=False, compare=False)
    """The photo as it was given."""

    def overlay(self, *, max_side: int = SIDE) -> Image.Image:
        """The photo with its objects tinted and outlined, and a legend; its longer side is at most `max_side`.

        >>> model.segment("a.jpg").overlay().save("outlined.png")
        """
        return Image.fromarray(self._paint(max_side))

    def encode_overlay(self) -> bytes:
        """The overlay as a JPEG."""
        return encode_jpeg(self._paint(SIDE))

    def encode_mask(self) -> bytes:
        """The labels as a palette PNG in the colours of PASCAL VOC."""
        return encode_palette(self.labels)

    def _paint(self, max_side: int) -> Array:
        return paint_overlay(_read(self.source, max_side).pixels, self.labels, self.names[1:])

    def _repr_png_(self) -> bytes:
        """The overlay, for notebooks."""
        stream = BytesIO()
        self.overlay().save(stream, "PNG")
        return stream.getvalue()


class ExportSummary(NamedTuple):
    """What an export wrote and left out."""

    n_photos: int
    n_objects: int
    unreadable: tuple[Problem, ...]
    """Photos that could not be read."""
    refused: tuple[Problem, ...]
    """Photos whose name no file can have, and files that were not replaced."""


@dataclass(frozen=True, kw_only=True)
class IndexOptions:
    """The options of `Model.index`.

    `format`, `split` and `images` are arguments of `tagsight.open_collection`. `engine`, `address` and `n_workers` are
    fields of `tagsight.TrainOptions`.
    """

    format: str | None = None
    split: str | None = None
    images: PathInput | None = None
    engine: str = TARGET.engine
    address: str | None = None
    n_workers: int | None = TARGET.n_workers


class IndexArguments(TypedDict, total=False):
    """The fields of `IndexOptions` as keyword arguments of `Model.index`, for type checkers."""

    format: str | None
    split: str | None
    images: PathInput | None
    engine: str
    address: str | None
    n_workers: int | None


class Model:
    """A trained model, as `tagsight.train` and `tagsight.load` return it.

    Attributes:
        trained: the record that is saved: vocabulary, predictor, example crops.
        problems: photos that training left out; empty for a loaded model.
        seconds: time of each stage of training; empty for a loaded model.
    """

    def __init__(
        self, trained: TrainedModel, *, problems: tuple[Problem, ...] = (), seconds: dict[str, float] | None = None
    ):
        self.trained = trained
        self.problems = problems
        self.seconds = seconds or {}
        self._predictor = PhotoPredictor(trained)

    @property
    def objects(self) -> tuple[str, ...]:
        """The nouns that the model was trained on."""
        return self.trained.vocabulary.objects

    @property
    def attributes(self) -> tuple[str, ...]:
        """The adjectives that the model was trained on."""
        return self.trained.vocabulary.attributes

    def save(self, path: PathInput) -> Self:
        """Write the model to a file; `tagsight.load` reads it.

        >>> tagsight.train("photos/").save("my.model")
        """
        save_model(self.trained, Path(path))
        return self

    def annotate(
        self,
        photos: PhotoInput | Iterable[PhotoInput],
        *,
        objects: int = N_OBJECTS,
        attributes: int = N_ATTRIBUTES,
        threshold: float = 0.0,
        progress: bool = True,
    ) -> Iterator[AnnotatedPhoto]:
        """Name the objects of photos, each with its attributes; each photo is processed when it is reached.

        Args:
            photos: a photo, a folder, or any iterable of both. A photo is a path, a PIL image, or an array of
                uint8 and shape (H, W), (H, W, 3) or (H, W, 4).
            objects: maximum number of objects per photo.
            attributes: maximum number of attributes per object.
            threshold: leave out objects and attributes that are less probable.
            progress: show a progress bar if there is more than one photo.

        A photo that cannot be read has an `error` and no objects, and gives a warning.

        >>> for photo in model.annotate(["a.jpg", "b.jpg"], attributes=3):
        ...     print(photo.path, [(one.name, one.score) for one in photo.objects])
        """
        sources, total = _iterate(photos)

        def annotate(source: PhotoInput) -> tuple[FoundObject, ...]:
            return annotate_photo(
                self.trained, *self.predict(source), n_objects=objects, n_attributes=attributes, threshold=threshold
            )

        def run() -> Iterator[AnnotatedPhoto]:
            with show_progress(progress and total != 1) as report:
                for done, source in enumerate(sources):
                    report("annotating photos", done, total)
                    path = Path(source) if _is_path(source) else None
                    try:
                        photo = AnnotatedPhoto(path, annotate(source), source=source)
                    except UnreadablePhotoError as error:
                        _warn_left_out([Problem(Path(error.path), error.reason)])
                        photo = AnnotatedPhoto(path, (), error.reason, source)
                    yield photo
                    report("annotating photos", done + 1, total)

        return run()

    def describe(
        self,
        photo: PhotoInput,
        object: str,
        *,
        box: Box | None = None,
        attributes: int = N_ATTRIBUTES,
        threshold: float = 0.0,
    ) -> FoundObject:
        """Describe one object of a photo by its attributes.

        Args:
            photo: a path, a PIL image or an array.
            object: the name of one of the model's objects.
            box: x0, y0, x1, y1 of the part of the photo where the object is; by default the whole photo is searched.
            attributes: maximum number of attributes.
            threshold: leave out attributes that are less probable.

        >>> [one.name for one in model.describe("a.jpg", "horse").attributes]
        """
        return describe_object(
            self.trained, *self.predict(photo), object, box=box, n_attributes=attributes, threshold=threshold
        )

    def segment(self, photo: PhotoInput, *, threshold: float = 0.0, refine: bool = False) -> Segmentation:
        """Outline the objects of a photo.

        Args:
            photo: a path, a PIL image or an array.
            threshold: label a region as background if its object is less probable.
            refine: move outlines to the edges of the photo with a dense CRF.

        >>> outline = model.segment("a.jpg")
        >>> outline.names[outline.labels[100, 50]]
        """
        if len(self.objects) > LARGEST:
            raise InputError(f"a mask holds {LARGEST} objects and the model has {len(self.objects)}")
        read = _read(photo)
        features, prediction = self._predict(read)
        if refine:
            labels = refine_objects(features, prediction, read.pixels, threshold=threshold)
        else:
            labels = segment_objects(features, prediction, threshold=threshold)
        return Segmentation(labels, ("background", *self.objects), photo)

    def predict(self, photo: PhotoInput) -> PredictedPhoto:
        """The regions of a photo, and the probabilities of every object and attribute in each.

        >>> features, prediction = model.predict("a.jpg")
        >>> prediction.objects.shape
        """
        return self._predict(_read(photo))

    def predict_all(
        self,
        photos: PhotoInput | Iterable[PhotoInput],
        *,
        objects: Sequence[Iterable[str]] | None = None,
        transductive: bool = False,
    ) -> list[PredictedPhoto]:
        """Predict photos together, in memory; a photo that cannot be read raises an UnreadablePhotoError.

        Args:
            photos: a photo, a folder, or any iterable of both, as in `annotate`.
            objects: names of the objects that each photo may contain, one collection for each photo; by default all.
            transductive: also learn from these photos, without tags. The model itself is not changed.

        >>> predicted = model.predict_all(["a.jpg", "b.jpg"], objects=[["horse"], ["horse", "house"]])
        >>> predicted[0].prediction.objects.shape
        """
        sources = list(_iterate(photos)[0])
        allowed = None if objects is None else self._allow_objects(objects, len(sources))
        read = (self._check_and_read(source) for source in sources)
        return self._predictor.predict_all(read, allowed, transductive=transductive)

    def export(
        self,
        photos: PathInput | Iterable[PathInput],
        folder: PathInput,
        *,
        format: str,
        threshold: float = 0.0,
        attribute_threshold: float = ATTRIBUTE_THRESHOLD,
        connected: bool = True,
        progress: bool = True,
    ) -> ExportSummary:
        """Write the objects of photos, with outlines, scores and attributes, for other programs.

        Args:
            photos: a path of a photo or of a folder, or any iterable of both.
            folder: folder for the files.
            format: name of a format, such as `coco`; an unknown name raises an InputError that lists all.
            threshold: label a region as background if its object is less probable.
            attribute_threshold: leave out attributes that are less probable.
            connected: an instance is a connected piece of an object; otherwise all pieces of one object.
            progress: show the progress.

        >>> model.export("new/", "out/", format="coco")
        """
        writer = choose_format(format)
        given = [Path(photos)] if _is_path(photos) else [Path(photo) for photo in photos]
        paths = [Path(path) for path in _iterate(given)[0] if _is_path(path)]
        options = _ExportOptions(threshold, attribute_threshold, connected)
        exporter = _Exporter(self, find_root(given), options)
        with show_progress(progress) as report:
            target = Target(self.trained.vocabulary, Path(folder))
            for problem in write_export(exporter.record(paths, report), writer, target, paths):
                exporter.refuse(problem)
        return exporter.summarise()

    def index(
        self, photos: PathInput, folder: PathInput, *, progress: bool = True, **options: Unpack[IndexArguments]
    ) -> "Index":
        """Annotate every photo once, so that they can be searched; later calls annotate new and changed photos only.

        Args:
            photos: the folder of the photos, tagged or not.
            folder: the folder of the index.
            progress: show a progress bar.
            **options: any field of `tagsight.IndexOptions`, such as `n_workers=2`.

        >>> index = model.index("photos/", "my.index")
        >>> [hit.path for hit in index.find("furry brown horse", top=20)]
        """
        from tagsight.index import open_index

        self.update_index(photos, folder, progress=progress, **options)
        return open_index(folder)

    def update_index(
        self, photos: PathInput, folder: PathInput, *, progress: bool = True, **options: Unpack[IndexArguments]
    ) -> "BuildResult":
        """Build or update an index as `index` does, with the same arguments; returns the numbers of changed photos."""
        from tagsight.index import build_index, list_source
        from tagsight.index.sources import count_outside_links

        _check_known(options, IndexOptions, "indexing")
        chosen = IndexOptions(**options)
        images = None if chosen.images is None else Path(chosen.images)
        source = list_source(Path(photos), format=chosen.format, split=chosen.split, images=images)
        check_engine(chosen.engine, TARGET.device)
        with open_engine(chosen.engine, chosen.address) as map_fn, show_progress(progress) as report:
            built = build_index(
                self.trained, source, Path(folder), n_workers=chosen.n_workers, map_fn=map_fn, report=report
            )
        for repair in built.repairs:
            _warn(repair)
        _warn_left_out(built.problems)
        if linked := count_outside_links(source):
            outside = f"photos that are links and lead outside {str(source.root)!r}: {linked}"
            _warn(f"{outside}; they are indexed and served")
        return built

    def list_factors(self) -> list[Factor]:
        """Every factor, tagged or discovered: how often it occurs, and with which others.

        >>> [(factor.name, factor.share) for factor in model.list_factors()]
        """
        return list_factors(self.trained)

    def __repr__(self) -> str:
        training = self.trained.training
        return (
            f"<tagsight.Model: {len(self.objects)} objects, {len(self.attributes)} attributes, "
            f"trained on {training.n_photos} photos>"
        )

    def _repr_html_(self) -> str:
        """The vocabulary of the model, for notebooks."""
        rows = "".join(
            f"<tr><th>{kind}</th><td>{escape(', '.join(names))}</td></tr>"
            for kind, names in (("objects", self.objects), ("attributes", self.attributes))
        )
        return f"<table>{rows}<tr><th>photos</th><td>{self.trained.training.n_photos}</td></tr></table>"

    def _allow_objects(self, objects: Sequence[Iterable[str]], n_photos: int) -> Tags:
        """The objects that photos may contain, as an array; all attributes are allowed."""
        if len(objects) != n_photos:
            raise InputError(f"objects are given for {len(objects)} photos, but there are {n_photos} photos")
        allowed = np.zeros((n_photos, len(self.objects)), np.uint8)
        for photo, names in enumerate(objects):
            for name in names:
                allowed[photo, find_object(self.trained, name)] = 1
            if not allowed[photo].any():
                raise InputError(f"photo number {photo} may contain no object: allow at least one")
        return Tags(allowed, np.ones((n_photos, len(self.attributes)), np.uint8))

    @staticmethod
    def _check_and_read(photo: PhotoInput) -> Photo:
        check_stop()
        return _read(photo)

    def _predict(self, photo: Photo) -> PredictedPhoto:
        check_stop()
        return self._predictor.predict(photo)


class _ExportOptions(NamedTuple):
    threshold: float
    attribute_threshold: float
    connected: bool


class _Exporter:
    """Predicts the photos of one export, and records what was left out."""

    def __init__(self, model: Model, root: Path, options: _ExportOptions):
        self._model = model
        self._root = root
        self._options = options
        self._n_objects: dict[str, int] = {}  # by name of the photo
        self._unreadable: list[Problem] = []
        self._refused: list[Problem] = []

    def record(self, paths: Iterable[Path], report: Report) -> Iterator[ExportedPhoto]:
        """The objects of each photo, once per photo."""
        for path in paths:
            try:
                name = name_photo(path, self._root)
            except InputError as error:
                self.refuse(Problem(path, str(error)))
                continue
            if name in self._n_objects:
                continue  # the photo was given twice
            try:
                photo = self._record(path, name)
            except UnreadablePhotoError as error:
                self._unreadable.append(Problem(path, error.reason))
                _warn_left_out(self._unreadable[-1:])
                continue
            self._n_objects[name] = len(photo.instances)
            yield photo
            report("photos", len(self._n_objects), 0)

    def refuse(self, problem: Problem) -> None:
        """Record a photo or file that was left out, and warn of it."""
        self._refused.append(problem)
        _warn_left_out([problem])

    def summarise(self) -> ExportSummary:
        """The numbers of photos and objects written, and what was left out."""
        counts = self._n_objects
        return ExportSummary(len(counts), sum(counts.values()), tuple(self._unreadable), tuple(self._refused))

    def _record(self, path: Path, name: str) -> ExportedPhoto:
        features, prediction = self._model.predict(path)
        return record_photo(self._model.trained, features, prediction, path=path, name=name, **self._options._asdict())


def _read(photo: PhotoInput, max_side: int = 500) -> Photo:
    if _is_path(photo):
        return read_photo(photo, max_side=max_side)
    return convert_image(photo, max_side=max_side)


def _iterate(photos: PhotoInput | Iterable[PhotoInput]) -> tuple[Iterator[PhotoInput], int]:
    """The photos, and those in folders, one at a time; and their number, or 0 if it is unknown."""
    given: Iterable[PhotoInput] = [photos] if _is_photo(photos) else photos
    expanded = (one for photo in given for one in _expand(photo))
    if not isinstance(given, Sized):
        return expanded, 0
    listed = list(expanded)
    return iter(listed), len(listed)


def _expand(photo: object) -> Iterable[PhotoInput]:
    """The photo itself, or the photos in the folder."""
    if not _is_photo(photo):
        raise InputError(f"a photo must be a path, a PIL image or an array, got {type(photo).__name__}")
    if not _is_path(photo) or not Path(photo).is_dir():
        return [photo]
    listing = list_photos(Path(photo))
    _warn_left_out(listing.problems)
    return listing.photos


def _is_path(value: object) -> "TypeIs[PathInput]":
    return isinstance(value, str | os.PathLike)


def _is_photo(value: object) -> "TypeIs[PhotoInput]":
    return _is_path(value) or isinstance(value, Image.Image | np.ndarray)


def _warn_left_out(problems: Iterable[Problem]) -> None:
    for problem in problems:
        _warn(f"left out {str(problem.path)!r}: {problem.reason}", LeftOutWarning)


def _warn(text: str, category: type[TagsightWarning] = TagsightWarning) -> None:
    """Warn with the position of the first caller outside this package."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "tagsight":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
