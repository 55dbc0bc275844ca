"""The local posterior of a shard as a safetensors file: its exact bits, whole or not there."""

from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tagsight.errors import InputError
from tagsight.files import write_atomically
from tagsight.model.state import Local


def save_local(local: Local, path: Path) -> None:
    """Write the posterior; `path` holds the old file or the new one at any time."""
    write_atomically(path, save({name: np.ascontiguousarray(array) for name, array in local._asdict().items()}))


def load_local(path: Path) -> Local:
    """The posterior that `save_local` wrote."""
    try:
        return Local(**load(path.read_bytes()))
    except (OSError, SafetensorError, TypeError) as problem:
        raise InputError(f"{str(path)!r} cannot be read as a local posterior: {problem}") from problem
