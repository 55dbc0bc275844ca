"""One writer at a time; the lock goes with the process, however it ends."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tagsight.errors import InputError


@contextmanager
def hold_lock(path: Path, *, wait: bool, busy: str = "") -> Generator[None]:
    """Hold the lock file at `path`; where `wait` is false and someone has it, an InputError says `busy`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as problem:
            raise InputError(busy) from problem
        yield
    finally:
        os.close(handle)
