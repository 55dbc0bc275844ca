"""Locks between processes. A lock is released when its process ends, however it ends."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from tagsight.errors import InputError, WriteError
from tagsight.runtime.interrupts import check_stop

POLL = 0.02  # seconds between two tries to take a lock


@contextmanager
def hold_lock(path: Path, *, wait: bool, busy: str = "", remove: bool = False) -> Generator[None]:
    """Hold the lock file at `path` while the block runs.

    If another process holds it, wait for it, or, where `wait` is false, raise an InputError with the message `busy`.
    With `remove` the file is removed with the lock, unless it has content and so is not a lock file of tagsight.
    """
    lock = FileLock(path, thread_local=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while not _try_lock(lock):
            if not wait:
                raise InputError(busy)
            check_stop()
            time.sleep(POLL)
    except OSError as problem:
        raise WriteError(path, problem.strerror or str(problem), "choose another place") from problem
    try:
        yield
    finally:
        if remove and path.exists() and path.stat().st_size == 0:
            path.unlink(missing_ok=True)
        lock.release()


def _try_lock(lock: FileLock) -> bool:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    return True
