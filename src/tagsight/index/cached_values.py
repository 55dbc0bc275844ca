"""Values kept in memory up to a limit, the last used longest."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class _Entry(NamedTuple, Generic[T]):
    value: T
    n_bytes: int


class CachedValues(Generic[T]):
    """Values by key. Threads may share it; what is handed out stays valid when it is dropped."""

    def __init__(self, n_bytes: int):
        self._limit = n_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()
        self._n_bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: Hashable) -> T | None:
        """A kept value, used now."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key].value

    def keep(self, key: Hashable, value: T, n_bytes: int) -> None:
        """Keep a value of this size; others go as long as there are too many bytes."""
        with self._lock:
            self._forget(key)
            self._entries[key] = _Entry(value, n_bytes)
            self._n_bytes += n_bytes
            while len(self._entries) > 1 and self._n_bytes > self._limit:
                self._forget(next(iter(self._entries)))

    def _forget(self, key: Hashable) -> None:
        if key in self._entries:
            self._n_bytes -= self._entries.pop(key).n_bytes
