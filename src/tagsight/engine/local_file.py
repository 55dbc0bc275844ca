"""The local posterior of a shard as a file of `tensor_file`: its exact bits with a checksum, whole or not there.

A batch keeps the posterior of its shards, by number, in a folder: `now-0`, `now-1`, ..., and, while renewed free
factors are on trial, those it may have to go back to: `before-0`, `before-1`, ...
"""

import os
from collections.abc import Callable
from itertools import count, takewhile
from pathlib import Path
from typing import NamedTuple

from tagsight.errors import InputError
from tagsight.model.state import Local, join_locals
from tagsight.storage.tensor_file import TRAIN_ANEW, load_tensors, save_tensors


def save_local(local: Local, path: Path) -> None:
    """Write the posterior; `path` holds the old file or the new one at any time."""
    save_tensors(path, {}, local._asdict())


def load_local(path: Path) -> Local:
    """The posterior that `save_local` wrote."""
    _, tensors = load_tensors(path)
    return Local(*(tensors[name] for name in Local._fields))


def link_local(path: Path, to: Path) -> None:
    """Give a file of `save_local` a second name."""
    try:
        os.link(path, to)
    except FileNotFoundError as problem:
        raise InputError(f"{str(path)!r} is missing; {TRAIN_ANEW}") from problem


class SavedPosterior(NamedTuple):
    """What a batch of one shard keeps."""

    now: Local
    before: Local | None  # None: nothing is on trial


def place_now(folder: Path, shard: int = 0) -> Path:
    """Where the posterior of a batch's shard lies."""
    return folder / f"now-{shard}.safetensors"


def place_before(folder: Path, shard: int = 0) -> Path:
    """Where the one that it may have to go back to lies."""
    return folder / f"before-{shard}.safetensors"


def save_posterior(posterior: SavedPosterior, folder: Path) -> None:
    """Write the posterior of a batch of one shard."""
    save_local(posterior.now, place_now(folder))
    if posterior.before is not None:
        save_local(posterior.before, place_before(folder))


def load_posterior(folder: Path) -> SavedPosterior:
    """What `save_posterior` wrote, or, joined, what the parts of a batch wrote by number."""
    now = [load_local(path) for path in _list_parts(place_now, folder)]
    if not now:
        raise InputError(f"{str(place_now(folder))!r} is missing; {TRAIN_ANEW}")
    before = [load_local(path) for path in _list_parts(place_before, folder)]
    return SavedPosterior(join_locals(now), join_locals(before) if before else None)


def _list_parts(place: Callable[[Path, int], Path], folder: Path) -> list[Path]:
    return list(takewhile(Path.exists, (place(folder, shard) for shard in count())))
