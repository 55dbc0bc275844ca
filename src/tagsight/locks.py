"""One writer at a time; the lock goes with the process, however it ends."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tagsight.errors import InputError


@contextmanager
def hold_lock(path: Path, *, wait: bool, busy: str = "", remove: bool = False) -> Generator[None]:
    """Hold the lock file at `path`; where `wait` is false and someone has it, an InputError says `busy`.

    With `remove` the file goes when the lock does.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = _take(path, wait, busy)
    try:
        yield
    finally:
        if remove:
            path.unlink(missing_ok=True)
        os.close(handle)


def _take(path: Path, wait: bool, busy: str) -> int:
    """A locked handle of the file that is at `path` now, not of one that its last holder removed."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        except BlockingIOError as problem:
            os.close(handle)
            raise InputError(busy) from problem
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
