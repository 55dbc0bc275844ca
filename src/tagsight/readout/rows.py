"""Rows that a linear reader learns from, a block at a time: in memory, or in a file where memory is short.

Blocks are the same wherever the rows lie, and sums run over blocks, so that the place does not change an answer.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

import numpy as np

from tagsight.files import replace_file
from tagsight.types import Array, Floats

BLOCK = 4096  # rows


class Rows(Protocol):
    """Rows (n, D) float32."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n, D)."""
        ...

    def blocks(self) -> Iterator[Array]:
        """Some rows after the others, always the same."""
        ...


class HeldRows:
    """Rows in memory."""

    def __init__(self, rows: Array):
        self._rows = rows
        self.shape: tuple[int, int] = rows.shape

    def blocks(self) -> Iterator[Array]:
        """BLOCK rows after BLOCK rows."""
        for first in range(0, len(self._rows), BLOCK):
            yield self._rows[first : first + BLOCK]


class FileRows:
    """Rows in a file of float32, and nothing else in it."""

    def __init__(self, path: Path, width: int):
        self._path = path
        self.shape = (path.stat().st_size // (4 * width), width)

    def blocks(self) -> Iterator[Array]:
        """BLOCK rows after BLOCK rows."""
        width = self.shape[1]
        with self._path.open("rb") as file:
            while len(block := np.fromfile(file, np.float32, BLOCK * width)):
                yield block.reshape(-1, width)


def gather_rows(rows: Iterable[Array], width: int, path: Path | None) -> Rows:
    """Rows of length `width`, one after the other, in memory or in the file at `path`."""
    if path is None:
        return HeldRows(np.array(list(rows), np.float32).reshape(-1, width))
    with replace_file(path) as file:
        for row in rows:
            file.write(np.ascontiguousarray(row, np.float32).tobytes())
    return FileRows(path, width)


def number_blocks(rows: Rows) -> Iterator[tuple[slice, Array]]:
    """Blocks with the rows they hold."""
    last = 0
    for block in rows.blocks():
        first, last = last, last + len(block)
        yield slice(first, last), block


def measure_rows(rows: Rows) -> tuple[Floats, Floats]:
    """(D,) mean and standard deviation of each column."""
    n, width = rows.shape
    mean = sum((block.sum(axis=0, dtype=np.float64) for block in rows.blocks()), np.zeros(width)) / n
    square = np.zeros(width)
    for block in rows.blocks():
        square += np.sum((block - mean) ** 2, axis=0)
    return mean, np.sqrt(square / n)
