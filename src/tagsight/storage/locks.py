"""One writer at a time; the lock goes with the process, however it ends."""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tagsight.errors import InputError, WriteError
from tagsight.runtime.interrupts import check_stop

POLL = 0.02  # seconds between two tries to take a lock


@contextmanager
def hold_lock(path: Path, *, wait: bool, busy: str = "", remove: bool = False) -> Generator[None]:
    """Hold the lock file at `path`; where `wait` is false and someone has it, an InputError says `busy`.

    With `remove` the file goes when the lock does, unless it has content, which would not be ours.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _take(path, wait, busy)
    except OSError as problem:
        raise WriteError(path, problem.strerror or str(problem), "choose another place") from problem
    try:
        yield
    finally:
        if remove and os.fstat(handle).st_size == 0:
            path.unlink(missing_ok=True)
        os.close(handle)


def _take(path: Path, wait: bool, busy: str) -> int:
    """A locked handle of the file that is at `path` now, not of one that its last holder removed."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            _lock(handle, wait)
            if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        except BlockingIOError as problem:
            os.close(handle)
            raise InputError(busy) from problem
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int, wait: bool) -> None:
    """Lock the file; where `wait` is false and someone has the lock, BlockingIOError is raised."""
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise
        check_stop()
        time.sleep(POLL)
