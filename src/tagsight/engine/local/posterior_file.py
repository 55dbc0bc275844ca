"""Local posteriors as files of `storage.records`: exact arrays with a checksum, written atomically.

A batch saves the posterior of each of its shards in one folder: `current-0`, `current-1`, ... During a trial (see
`model.fit`) it also saves the posteriors that it may restore: `previous-0`, `previous-1`, ...
"""

import os
from collections.abc import Callable
from itertools import count, takewhile
from pathlib import Path
from typing import NamedTuple

from tagsight.errors import InputError
from tagsight.model.state import Local, join_locals
from tagsight.storage.records import RecordFormat, load_record, save_record

FORMAT = RecordFormat("checkpoint file", 10, "train again without --resume")  # of all files of a checkpoint


def save_local(local: Local, path: Path) -> None:
    """Write the posterior of a shard."""
    save_record(local, path, FORMAT)


def load_local(path: Path) -> Local:
    """Load a file written by `save_local`."""
    return load_record(Local, path, FORMAT)


def link_local(path: Path, to: Path) -> None:
    """Create a hard link `to` to a file written by `save_local`."""
    try:
        os.link(path, to)
    except FileNotFoundError as problem:
        raise InputError(f"{str(path)!r} is missing; {FORMAT.remedy}") from problem


class SavedPosterior(NamedTuple):
    """The saved local posteriors of a batch."""

    current: Local
    previous: Local | None  # None if no trial is running


def current_path(folder: Path, shard: int = 0) -> Path:
    """Return the file of a shard's current posterior."""
    return folder / f"current-{shard}.safetensors"


def previous_path(folder: Path, shard: int = 0) -> Path:
    """Return the file of a shard's posterior before the trial."""
    return folder / f"previous-{shard}.safetensors"


def save_posterior(posterior: SavedPosterior, folder: Path) -> None:
    """Write the posteriors of a batch of one shard."""
    save_local(posterior.current, current_path(folder))
    if posterior.previous is not None:
        save_local(posterior.previous, previous_path(folder))


def load_posterior(folder: Path) -> SavedPosterior:
    """Load the posteriors that a batch saved; those of several shards are joined."""
    current = [load_local(path) for path in _list_files(current_path, folder)]
    if not current:
        raise InputError(f"{str(current_path(folder))!r} is missing; {FORMAT.remedy}")
    previous = [load_local(path) for path in _list_files(previous_path, folder)]
    return SavedPosterior(join_locals(current), join_locals(previous) if previous else None)


def _list_files(path_of: Callable[[Path, int], Path], folder: Path) -> list[Path]:
    return list(takewhile(Path.exists, (path_of(folder, shard) for shard in count())))
