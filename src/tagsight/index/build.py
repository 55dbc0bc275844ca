"""Building and updating an index: every photo is annotated once."""

from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.data.collection import Problem
from tagsight.errors import InputError
from tagsight.features.extract import Extraction, MapFunction, extract
from tagsight.index.manifest import (
    CURRENT,
    KIND,
    PENDING,
    DamagedManifestError,
    Manifest,
    OutdatedIndexError,
    Part,
    model_file,
    read_manifest,
    write_manifest,
)
from tagsight.index.part_file import IndexedPhoto, encode_label_map
from tagsight.index.parts import KnownPhoto, hash_file, keep_intact, list_known, remove_unused, tidy_parts, write_part
from tagsight.index.sources import FileStat, PhotoSource, stat_files
from tagsight.model.validation import MAX_WORKERS, check_between
from tagsight.predict.annotate import scale_boxes
from tagsight.predict.model_file import encode_model
from tagsight.predict.predictor import Prediction, predict_photos
from tagsight.predict.probabilities import RegionLabels, choose_labels, to_levels
from tagsight.predict.trained_model import TrainedModel
from tagsight.runtime.interrupts import check_stop
from tagsight.runtime.progress import Report, no_progress
from tagsight.storage.files import read_bytes, write_atomically
from tagsight.storage.locks import hold_lock
from tagsight.storage.outputs import check_folder, claim_folder
from tagsight.types import Array

CHUNK = 1024  # photos per new part; a killed build loses at most this many
BATCH = 32  # photos that the model annotates together


class BuildResult(NamedTuple):
    """The changes that a build made to an index."""

    n_photos: int  # in the index after the build
    added: int
    changed: int
    removed: int
    problems: tuple[Problem, ...]
    repairs: tuple[str, ...] = ()  # one message for each damaged or outdated file whose photos were annotated again


def build_index(
    model: TrainedModel,
    source: PhotoSource,
    folder: Path,
    *,
    n_workers: int | None = None,
    map_fn: MapFunction | None = None,
    report: Report = no_progress,
) -> BuildResult:
    """Build the index of the photos of `source` in `folder`, annotated by the model, or update it.

    Photos that are in the index already, with the same file size and time and for the same model, are not annotated
    again. Readers see the old index until the last photo is done, and then the new one. A build that was killed is
    continued by the next one; a second one at the same time is refused. `n_workers` and `map_fn` are as in `extract`.

    Photos of a part with a missing or damaged file are annotated again. All photos are if the manifest is damaged or
    an older tagsight wrote it.
    """
    check_folder(folder, KIND, _has_manifest)
    if n_workers is not None:
        check_between(n_workers, "the number of workers", 1, MAX_WORKERS)
    content = encode_model(model)
    claim_folder(folder, KIND, _has_manifest)
    busy = f"another process is building the index {str(folder)!r}; wait for it to finish"
    with hold_lock(folder / "build.lock", wait=False, busy=busy):
        digest = sha256(content).hexdigest()
        draft, faults = keep_intact(folder, _begin(folder, model, digest, source.root))
        faults = (*_list_unread(folder), *faults)
        copy = model_file(folder, draft)
        if not copy.is_file() or hash_file(copy) != digest:
            write_atomically(copy, content)
        return _Build(folder, model, draft, n_workers, map_fn, report).run(source)._replace(repairs=faults)


class _Build:
    def __init__(
        self,
        folder: Path,
        model: TrainedModel,
        draft: Manifest,
        n_workers: int | None,
        map_fn: MapFunction | None,
        report: Report,
    ):
        self._folder = folder
        self._model = model
        self._draft = draft
        self._n_workers = n_workers
        self._map_fn = map_fn
        self._report = report

    def run(self, source: PhotoSource) -> BuildResult:
        files, problems = stat_files(source)
        if not files:
            raise InputError(f"there is no photo in {str(source.root)!r}")
        known = list_known(self._folder, self._draft)
        kept = {path for path, file in files.items() if path in known and _is_unchanged(known[path], file)}
        gone = [photo for path, photo in known.items() if path not in kept]
        self._draft = self._draft._replace(parts=_remove(self._draft.parts, gone))
        problems += self._annotate({path: file for path, file in files.items() if path not in kept})
        self._commit()
        now = list_known(self._folder, self._draft).keys()
        return BuildResult(
            len(now),
            len(now - known.keys()),
            len(now & known.keys() - kept),
            len(known.keys() - now),
            (*source.problems, *problems),
        )

    def _annotate(self, files: dict[str, FileStat]) -> list[Problem]:
        """Annotate photos and write their parts, one after the other; returns the photos that cannot be read."""
        problems: list[Problem] = []
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            self._report("annotating photos", done, len(files))

        names = {file.path: name for name, file in files.items()}
        paths = list(names)
        for start in range(0, len(paths), CHUNK):
            extraction = extract(
                paths[start : start + CHUNK],
                self._model.extractor_config,
                n_regions=self._model.n_regions,
                n_workers=self._n_workers,
                map_fn=self._map_fn,
                on_photo=count,
            )
            problems += extraction.problems
            if not extraction.photos:
                continue
            rows = list(self._predict(extraction, names, files))
            part = write_part(self._folder, rows)
            self._draft = self._draft._replace(
                next_photo=self._draft.next_photo + len(rows), parts=(*self._draft.parts, part)
            )
            write_manifest(self._folder, self._draft, PENDING)
        return problems

    def _predict(
        self, extraction: Extraction, names: dict[Path, str], files: dict[str, FileStat]
    ) -> Iterator[IndexedPhoto]:
        prediction = partial(_predict_batch, self._model)
        results = chain.from_iterable((self._map_fn or map)(prediction, _cut(extraction, BATCH)))
        rows = zip(extraction.photos, results, strict=True)
        for number, (path, one) in enumerate(rows, self._draft.next_photo):
            file = files[names[path]]
            yield IndexedPhoto(
                number,
                names[path],
                one.size,
                file.mtime_ns,
                file.n_bytes,
                one.boxes,
                one.levels,
                one.label_map,
                one.named,
            )

    def _commit(self) -> None:
        """Publish the new generation; the previous one stays on disk for its readers."""
        before = _read(self._folder, CURRENT)
        self._draft = self._draft._replace(parts=tidy_parts(self._folder, self._draft.parts))
        if before is None or self._draft != before._replace(generation=self._draft.generation):
            write_manifest(self._folder, self._draft)
            remove_unused(self._folder, self._draft, *((before,) if before else ()))
        (self._folder / PENDING).unlink(missing_ok=True)


class _Annotated(NamedTuple):
    """The stored data of a photo, except that of its file."""

    size: tuple[int, int]
    boxes: Array
    levels: Array
    label_map: bytes
    named: RegionLabels


def _cut(extraction: Extraction, size: int) -> Iterator[Extraction]:
    for start in range(0, len(extraction.photos), size):
        some = slice(start, start + size)
        yield extraction._replace(photos=extraction.photos[some], entries=extraction.entries[some], problems=())


def _predict_batch(model: TrainedModel, extraction: Extraction) -> list[_Annotated]:
    check_stop()
    photos = list(extraction.load())
    return [
        _Annotated(
            photo.size,
            np.array(scale_boxes(photo)),
            to_levels(join_factors(prediction)),
            encode_label_map(photo.labels),
            choose_labels(prediction.objects),
        )
        for photo, prediction in zip(photos, predict_photos(model.predictor, photos), strict=True)
    ]


def join_factors(prediction: Prediction) -> np.ndarray:
    """(R, K) probabilities in the order of the model's factors."""
    return np.hstack([prediction.presence_by_region, prediction.attributes, prediction.free])


def _begin(folder: Path, model: TrainedModel, digest: str, root: Path) -> Manifest:
    """The manifest to start from: that of an unfinished build, that of the index, or an empty one."""
    current = _read(folder, CURRENT)
    generation = current.generation + 1 if current else 1
    pending = _read(folder, PENDING)
    for found in (pending, current):
        if found and found.model == digest and (found is current or found.generation == generation):
            return found._replace(generation=generation, root=str(root))
    return Manifest(
        generation,
        str(root),
        digest,
        model.vocabulary.objects,
        model.vocabulary.attributes,
        model.predictor.parts.learned.settings.factors.free,
        max((found.next_photo for found in (pending, current) if found), default=0),
        (),
    )


def _has_manifest(folder: Path) -> bool:
    """Whether the folder holds the manifest of an index, damaged or not."""
    return any((folder / name).is_file() and KIND.encode() in read_bytes(folder / name) for name in (CURRENT, PENDING))


def _read(folder: Path, name: str) -> Manifest | None:
    """A manifest, or None if it is missing, damaged or outdated."""
    try:
        return read_manifest(folder, name) if (folder / name).exists() else None
    except (DamagedManifestError, OutdatedIndexError):
        return None


def _list_unread(folder: Path) -> Iterator[str]:
    """One message for each manifest that exists and cannot be used."""
    consequences = {CURRENT: "all photos are annotated again", PENDING: "a stopped build begins again"}
    for name, consequence in consequences.items():
        path = folder / name
        try:
            if path.exists():
                read_manifest(folder, name)
        except DamagedManifestError:
            yield f"{str(path)!r} is damaged, so {consequence}"
        except OutdatedIndexError:
            yield f"an older tagsight wrote {str(path)!r}, so {consequence}"


def _is_unchanged(known: KnownPhoto, file: FileStat) -> bool:
    return (known.n_bytes, known.mtime_ns) == (file.n_bytes, file.mtime_ns)


def _remove(parts: Sequence[Part], gone: Sequence[KnownPhoto]) -> tuple[Part, ...]:
    numbers: dict[str, list[int]] = {}
    for photo in gone:
        numbers.setdefault(photo.part, []).append(photo.photo)
    return tuple(part._replace(removed=tuple(sorted({*part.removed, *numbers.get(part.name, ())}))) for part in parts)
