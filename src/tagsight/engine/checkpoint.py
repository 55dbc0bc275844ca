"""Checkpoints of an unfinished training: its settings, finished fits, and the progress of the running fit.

    MODEL.checkpoint/
      header.json                        schema and identity: settings and hashes of the data, by name
      results/NAME.safetensors           the record of a finished stage
      fits/NAME/done.safetensors         the result of a finished fit, `model.fit.Fit`
      fits/NAME/000120/                  the progress of an unfinished fit after 120 sweeps:
        progress.safetensors               `model.fit.FitProgress`
        batch-0/current-0.safetensors      local posteriors of the batches' shards, see `local.posterior_file`
      work/                              files that can be recreated, such as shards

All files but the header are those of `storage.records`. Files and folders are written atomically. Training resumes only
with the same data and settings.
"""

import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

from tagsight.engine.local.posterior_file import FORMAT
from tagsight.errors import InputError
from tagsight.model.fit import Fit, FitProgress
from tagsight.runtime.interrupts import Stop
from tagsight.storage.files import is_partial, name_partial, write_atomically
from tagsight.storage.outputs import MARKER, check_folder, claim_folder, is_claimed
from tagsight.storage.records import load_record, save_record

T = TypeVar("T")

EVERY = 5  # sweeps between two saves of a fit's progress
KIND = "tagsight checkpoint"
HEADER = "header.json"
RESULTS, FITS, WORK = FOLDERS = ("results", "fits", "work")
START_OVER = "train without --resume to start over"

Identity = dict[str, str | int | float | bool | list[float] | None]


class SavedBatch(Protocol):
    """A batch that can save its local posterior (see `engine.devices.CheckpointableBatch`)."""

    def save(self, folder: Path, *, with_previous: bool) -> None:
        """Write the local posterior and, if `with_previous`, the one that `restore` returns to."""
        ...


class FitCheckpoint:
    """The part of a checkpoint that belongs to one fit."""

    def __init__(self, folder: Path, stop: Stop, every: int = EVERY):
        self.stop = stop
        self._folder = folder
        self._every = every

    def load_fit(self) -> Fit | None:
        """Return the result of the fit; None if the fit is unfinished."""
        return load_record(Fit, self._fit_file, FORMAT) if self._fit_file.exists() else None

    def load_progress(self) -> FitProgress | None:
        """Return the saved progress of the fit; None if there is none."""
        latest = self._latest()
        return latest and load_record(FitProgress, latest / "progress.safetensors", FORMAT)

    def batch_folder(self, batch: int) -> Path:
        """Return the folder with the local posterior of a batch at the saved progress."""
        latest = self._latest()
        assert latest is not None
        return latest / f"batch-{batch}"

    def update(self, progress: FitProgress, batches: Sequence[SavedBatch]) -> None:
        """Save the progress every few sweeps. After a stop signal, save it and raise StoppedError."""
        if self.stop.signal is not None or progress.n_run % self._every == 0:
            self._save_progress(progress, batches)
        self.stop.check()

    def save_fit(self, fit: Fit) -> None:
        """Save the result of the fit and remove its progress."""
        save_record(fit, self._fit_file, FORMAT)
        for folder in self._progress_folders():
            shutil.rmtree(folder)

    @property
    def _fit_file(self) -> Path:
        return self._folder / "done.safetensors"

    def _save_progress(self, progress: FitProgress, batches: Sequence[SavedBatch]) -> None:
        old = self._progress_folders()
        partial = name_partial(self._folder)
        save_record(progress, partial / "progress.safetensors", FORMAT)
        for b, batch in enumerate(batches):
            batch.save(partial / f"batch-{b}", with_previous=progress.on_trial)
        partial.rename(self._folder / f"{progress.n_run:06}")
        for folder in old:
            shutil.rmtree(folder)

    def _latest(self) -> Path | None:
        return max(self._progress_folders(), default=None)

    def _progress_folders(self) -> list[Path]:
        return [path for path in self._folder.glob("*") if path.name.isdecimal()]


class Checkpoint:
    """An open checkpoint."""

    def __init__(self, folder: Path, stop: Stop):
        self.folder = folder
        self._stop = stop

    def fit(self, name: str) -> FitCheckpoint:
        """Return the checkpoint of the fit called `name`."""
        return FitCheckpoint(self.folder / FITS / name, self._stop)

    @property
    def work(self) -> Path:
        """Folder for files that can be recreated."""
        return self.folder / WORK

    def load_result(self, name: str, kind: type[T]) -> T | None:
        """Return the record of type `kind` saved under `name`; None if there is none."""
        path = self._result_file(name)
        return load_record(kind, path, FORMAT) if path.exists() else None

    def save_result(self, name: str, record: object) -> None:
        """Save the record of a finished stage."""
        save_record(record, self._result_file(name), FORMAT)

    def _result_file(self, name: str) -> Path:
        return self.folder / RESULTS / f"{name}.safetensors"


def checkpoint_folder(output: Path) -> Path:
    """Return the checkpoint folder of a training that writes the model file `output`."""
    return output.with_name(f"{output.name}.checkpoint")


def has_checkpoint(folder: Path) -> bool:
    """Return whether the folder holds an unfinished training."""
    return (folder / HEADER).is_file()


def check_checkpoint_folder(folder: Path) -> None:
    """Raise InputError if the folder holds files that tagsight did not write."""
    check_folder(folder, KIND, _has_header)


def remove_checkpoint(folder: Path) -> None:
    """Remove the checkpoint of a finished or discarded training; files that tagsight did not write stay."""
    if not (is_claimed(folder, KIND) or _has_header(folder)):
        return
    (folder / HEADER).unlink(missing_ok=True)  # first: after an interruption the rest is not taken for a checkpoint
    for name in FOLDERS:
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / MARKER).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def open_checkpoint(folder: Path, identity: Identity, *, resume: bool, stop: Stop) -> Checkpoint:
    """Open the checkpoint in `folder`: with `resume` the existing one, if there is one, otherwise an empty one.

    Raises InputError if the existing checkpoint has another identity or schema.
    """
    if resume and has_checkpoint(folder):
        _check_identity(folder, identity)
    else:
        check_checkpoint_folder(folder)
        remove_checkpoint(folder)
        claim_folder(folder, KIND)
        write_atomically(folder / HEADER, json.dumps({"schema": FORMAT.schema, "identity": identity}).encode())
    for path in [path for path in folder.rglob("*") if is_partial(path.name)]:  # left by a killed process
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return Checkpoint(folder, stop)


def _has_header(folder: Path) -> bool:
    """Return whether the folder holds the header of a checkpoint, of this schema or an earlier one."""
    try:
        header = json.loads((folder / HEADER).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(header, dict) and header.keys() == {"schema", "identity"} and isinstance(header["identity"], dict)


def _check_identity(folder: Path, identity: Identity) -> None:
    try:
        header = json.loads((folder / HEADER).read_bytes())
        schema, saved = int(header["schema"]), dict(header["identity"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise InputError(f"{str(folder)!r} is damaged: {problem}; {START_OVER}") from problem
    if schema != FORMAT.schema:
        raise InputError(
            f"{str(folder)!r} has checkpoint schema {schema}, this version of tagsight needs "
            f"{FORMAT.schema}; {START_OVER}"
        )
    given: Identity = json.loads(json.dumps(identity))
    names = [name for name in {**given, **saved} if given.get(name) != saved.get(name)]
    if names:
        differences = ", ".join(f"{name} was {saved.get(name)!r}, now {given.get(name)!r}" for name in names)
        raise InputError(f"{str(folder)!r} is the checkpoint of another training: {differences}; {START_OVER}")
