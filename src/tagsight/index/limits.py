"""Limits on the memory and the time of requests to an index.

The deadline of a request is a context variable, which worker threads inherit.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Generator, Hashable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, NamedTuple, TypeVar

from tagsight.index.errors import BusyError

T = TypeVar("T")
_DEADLINE: ContextVar[float | None] = ContextVar("deadline", default=None)


class _Entry(NamedTuple, Generic[T]):
    value: T
    n_bytes: int


class LRUCache(Generic[T]):
    """Values by key, up to a total number of bytes; the least recently used are dropped first.

    Threads may share it. A value stays valid for its users when it is dropped.
    """

    def __init__(self, n_bytes: int):
        self._limit = n_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()
        self._n_bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> T | None:
        """The value of a key, which becomes the most recently used, or None."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key].value

    def put(self, key: Hashable, value: T, n_bytes: int) -> None:
        """Store a value of this size. Others are dropped until all fit; a single value always stays."""
        with self._lock:
            self._drop(key)
            self._entries[key] = _Entry(value, n_bytes)
            self._n_bytes += n_bytes
            while len(self._entries) > 1 and self._n_bytes > self._limit:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: Hashable) -> None:
        if key in self._entries:
            self._n_bytes -= self._entries.pop(key).n_bytes


@contextmanager
def answer_within(seconds: float) -> Generator[None]:
    """Let every request to an index inside the block raise `BusyError` after `seconds`."""
    before = _DEADLINE.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _DEADLINE.reset(before)


def check_deadline() -> None:
    """Raise `BusyError` if the deadline has passed."""
    left = _get_remaining()
    if left is not None and left <= 0:
        raise BusyError("the request took too long; ask for less, or try again later")


@contextmanager
def hold_slot(slots: threading.Semaphore) -> Generator[None]:
    """Hold one of the slots of a semaphore; wait for one until the deadline, if there is one."""
    check_deadline()
    if not slots.acquire(timeout=_get_remaining()):
        raise BusyError("too many requests are waiting; try again later")
    try:
        yield
    finally:
        slots.release()


def _get_remaining() -> float | None:
    """Seconds until the deadline, or None if there is no deadline."""
    end = _DEADLINE.get()
    return None if end is None else max(0.0, end - time.monotonic())
