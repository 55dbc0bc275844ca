"""A time limit for the requests to an index, kept in a context variable that worker threads inherit."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tagsight.index.errors import BusyError

_DEADLINE: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def answer_within(seconds: float) -> Iterator[None]:
    """Let every request to an index inside the block raise `BusyError` after `seconds`."""
    before = _DEADLINE.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _DEADLINE.reset(before)


def check_deadline() -> None:
    """Raise `BusyError` if the time limit has passed."""
    left = _remaining()
    if left is not None and left <= 0:
        raise BusyError("the request took too long; ask for less, or try again later")


@contextmanager
def hold_slot(slots: threading.Semaphore) -> Iterator[None]:
    """Hold one of the slots of a semaphore; wait for one until the time limit, if there is one."""
    check_deadline()
    if not slots.acquire(timeout=_remaining()):
        raise BusyError("too many requests are waiting; try again later")
    try:
        yield
    finally:
        slots.release()


def _remaining() -> float | None:
    """Seconds until the time limit, or None if there is no limit."""
    end = _DEADLINE.get()
    return None if end is None else max(0.0, end - time.monotonic())
