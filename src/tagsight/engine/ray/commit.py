"""What a worker leaves on disk so that another can go on: one file of `tensor_file`, whole or not there."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.model.state import Local, Summary
from tagsight.storage.tensor_file import TRAIN_ANEW, load_tensors, save_tensors
from tagsight.types import Array


class Commit(NamedTuple):
    """A worker after so many operations."""

    number: int
    local: Local
    before: Local  # what `restore` goes back to
    answer: Summary | None  # what the last operation gave


def save_commit(commit: Commit, path: Path) -> None:
    """Write the commit; `path` holds the old file or the new one at any time."""
    arrays: dict[str, Array] = {"number": np.array(commit.number)}
    for name in ("local", "before", "answer"):
        record = getattr(commit, name)
        if record is not None and not (name == "before" and record is commit.local):
            arrays |= {f"{name}.{field}": np.asarray(value) for field, value in record._asdict().items()}
    save_tensors(path, {}, arrays)


def load_commit(path: Path) -> Commit:
    """The commit that `save_commit` wrote."""
    _, arrays = load_tensors(path, f"{TRAIN_ANEW}, and every machine must see its folder")
    local = Local(*(arrays[f"local.{field}"] for field in Local._fields))
    before = answer = None
    if "before.assign" in arrays:
        before = Local(*(arrays[f"before.{field}"] for field in Local._fields))
    if "answer.count" in arrays:
        values = [arrays[f"answer.{field}"] for field in Summary._fields]
        answer = Summary._make(float(value) if value.ndim == 0 else value for value in values)
    return Commit(int(arrays["number"]), local, before or local, answer)
