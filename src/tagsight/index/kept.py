"""Columns kept in memory from earlier queries, up to a number of bytes; the longest unused go first."""

import threading
from collections import OrderedDict

from tagsight.types import Array


class KeptColumns:
    """Arrays by number. Threads may share it; what is handed out stays valid when it is dropped."""

    def __init__(self, n_bytes: int):
        self._limit = n_bytes
        self._lock = threading.Lock()
        self._columns: OrderedDict[int, Array] = OrderedDict()

    def __len__(self) -> int:
        return len(self._columns)

    def find(self, number: int) -> Array | None:
        """A kept column, used now."""
        with self._lock:
            if number in self._columns:
                self._columns.move_to_end(number)
            return self._columns.get(number)

    def keep(self, number: int, column: Array) -> None:
        """Keep a column; others go as long as there are too many bytes."""
        with self._lock:
            self._columns[number] = column
            self._columns.move_to_end(number)
            while len(self._columns) > 1 and sum(one.nbytes for one in self._columns.values()) > self._limit:
                self._columns.popitem(last=False)
