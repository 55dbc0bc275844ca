"""The checkpoint of a training: what it was made of, the fits that are done, and where the one at work stands.

    MODEL.checkpoint/
      header.json                        schema and identity: data and settings, by name
      results/NAME.json                  a SHA-256, and on the next line the numbers of a stage that is done
      fits/NAME/done.safetensors         what a fit gave
      fits/NAME/000120/                  where it stood after 120 sweeps:
        position.safetensors               `model.fit.Position`
        batch-0/now-0.safetensors          local posteriors of the batches' shards, see `local_file`
      work/                              what can be made again, such as shards

Everything appears whole or not at all. A checkpoint goes on only with the data and settings it was made of.
"""

import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from tagsight.engine.position_file import load_fit, load_position, save_fit, save_position
from tagsight.errors import InputError
from tagsight.model.fit import Fit, Position
from tagsight.runtime.interrupts import Stop
from tagsight.storage.files import is_partial, place_partial, write_atomically
from tagsight.storage.outputs import MARKER, check_folder, claim_folder, is_claimed
from tagsight.storage.tensor_file import TRAIN_ANEW

SCHEMA = 8
EVERY = 5  # sweeps between two positions
KIND = "tagsight checkpoint"
HEADER = "header.json"
RESULTS, FITS, WORK = FOLDERS = ("results", "fits", "work")

Identity = dict[str, str | int | float | bool | list[float] | None]


class SavedBatch(Protocol):
    """A batch that can write its local posterior (see `engine.devices.CheckpointableBatch`)."""

    def save(self, folder: Path, *, remembered: bool) -> None:
        """Write the local posterior, and the one `restore` goes back to if it is needed."""
        ...


class FitCheckpoint:
    """The part of a checkpoint that is about one fit."""

    def __init__(self, folder: Path, stop: Stop, every: int = EVERY):
        self.stop = stop
        self._folder = folder
        self._every = every

    def load_fit(self) -> Fit | None:
        """What the fit gave, if it is done."""
        return load_fit(self._done) if self._done.exists() else None

    def load_position(self) -> Position | None:
        """Where the fit stood, if it had begun."""
        latest = self._latest()
        return latest and load_position(latest / "position.safetensors")

    def place_batch(self, batch: int) -> Path:
        """Where the local posterior of a batch lies that belongs to the position."""
        latest = self._latest()
        assert latest is not None
        return latest / f"batch-{batch}"

    def note(self, position: Position, batches: Sequence[SavedBatch]) -> None:
        """Keep the position now and then; keep it and raise StoppedError where someone asked to stop."""
        if self.stop.asked is not None or position.n_run % self._every == 0:
            self._keep(position, batches)
        self.stop.check()

    def finish(self, fit: Fit) -> None:
        """Keep what the fit gave; how it came there is no longer needed."""
        save_fit(fit, self._done)
        for place in self._positions():
            shutil.rmtree(place)

    @property
    def _done(self) -> Path:
        return self._folder / "done.safetensors"

    def _keep(self, position: Position, batches: Sequence[SavedBatch]) -> None:
        old = self._positions()
        partial = place_partial(self._folder)
        save_position(position, partial / "position.safetensors")
        for b, batch in enumerate(batches):
            batch.save(partial / f"batch-{b}", remembered=position.on_trial)
        partial.rename(self._folder / f"{position.n_run:06}")
        for place in old:
            shutil.rmtree(place)

    def _latest(self) -> Path | None:
        return max(self._positions(), default=None)

    def _positions(self) -> list[Path]:
        return [place for place in self._folder.glob("*") if place.name.isdecimal()]


class Checkpoint:
    """An open checkpoint."""

    def __init__(self, folder: Path, stop: Stop):
        self.folder = folder
        self._stop = stop

    def fit(self, name: str) -> FitCheckpoint:
        """The part about the fit called `name`."""
        return FitCheckpoint(self.folder / FITS / name, self._stop)

    @property
    def work(self) -> Path:
        """A folder for what can be made again."""
        return self.folder / WORK

    def load_result(self, name: str) -> Any:
        """The numbers kept under `name`; None if there are none."""
        place = self.folder / RESULTS / f"{name}.json"
        if not place.exists():
            return None
        try:
            digest, text = place.read_text().split("\n", 1)
        except (OSError, ValueError) as problem:
            raise InputError(f"{str(place)!r} cannot be read: {problem}; {TRAIN_ANEW}") from problem
        if digest != sha256(text.encode()).hexdigest():
            raise InputError(f"{str(place)!r} is damaged: its checksum does not match; {TRAIN_ANEW}")
        return json.loads(text)

    def keep_result(self, name: str, value: Any) -> None:
        """Keep numbers of a stage that is done."""
        text = json.dumps(value)
        content = f"{sha256(text.encode()).hexdigest()}\n{text}"
        write_atomically(self.folder / RESULTS / f"{name}.json", content.encode())


def place_checkpoint(output: Path) -> Path:
    """Where the checkpoint of a training that writes `output` lies."""
    return output.with_name(f"{output.name}.checkpoint")


def has_checkpoint(folder: Path) -> bool:
    """Whether an unfinished training lies in the folder."""
    return (folder / HEADER).is_file()


def check_checkpoint_folder(folder: Path) -> None:
    """Raise InputError where the place of the checkpoint is taken by files that tagsight did not write."""
    check_folder(folder, KIND, _has_header)


def remove_checkpoint(folder: Path) -> None:
    """For when the training is done, and its model written, or when another begins; what is not ours stays."""
    if not (is_claimed(folder, KIND) or _has_header(folder)):
        return
    (folder / HEADER).unlink(missing_ok=True)  # first: what is left, if this is interrupted, is no checkpoint
    for name in FOLDERS:
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / MARKER).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def open_checkpoint(folder: Path, identity: Identity, *, resume: bool, stop: Stop) -> Checkpoint:
    """Go on with the checkpoint in `folder`, if it is asked for, there, and of the same identity; else begin one."""
    if resume and has_checkpoint(folder):
        _refuse_another(folder, identity)
    else:
        check_checkpoint_folder(folder)
        remove_checkpoint(folder)
        claim_folder(folder, KIND)
        write_atomically(folder / HEADER, json.dumps({"schema": SCHEMA, "identity": identity}).encode())
    for left in [path for path in folder.rglob("*") if is_partial(path.name)]:  # by a process that was killed
        shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
    return Checkpoint(folder, stop)


def _has_header(folder: Path) -> bool:
    """Whether the folder holds the header of a checkpoint, of this schema or an earlier one."""
    try:
        header = json.loads((folder / HEADER).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(header, dict) and header.keys() == {"schema", "identity"} and isinstance(header["identity"], dict)


def _refuse_another(folder: Path, identity: Identity) -> None:
    try:
        header = json.loads((folder / HEADER).read_bytes())
        schema, theirs = int(header["schema"]), dict(header["identity"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise InputError(f"{str(folder)!r} is damaged: {problem}; train without --resume to begin anew") from problem
    if schema != SCHEMA:
        raise InputError(
            f"{str(folder)!r} is of schema {schema}, this tagsight goes on from {SCHEMA}; "
            "train without --resume to begin anew"
        )
    ours: Identity = json.loads(json.dumps(identity))
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    if names:
        differences = ", ".join(f"{name} was {theirs.get(name)!r} and is {ours.get(name)!r}" for name in names)
        raise InputError(f"{str(folder)!r} is of another training: {differences}; train without --resume to begin anew")
