"""Rows that a linear reader learns from, a block at a time: in memory, or in a file where memory is short.

Blocks are the same wherever the rows lie, and sums run over blocks, so that the place does not change an answer.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np

from tagsight.runtime.interrupts import check_stop
from tagsight.storage.files import replace_file
from tagsight.types import Array, Floats, Ints

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


class InMemoryRows:
    """Rows in memory."""

    def __init__(self, rows: Array):
        self._rows = rows
        self.shape: tuple[int, int] = rows.shape

    def blocks(self) -> Iterator[Array]:
        """BLOCK rows after BLOCK rows."""
        for first in range(0, len(self._rows), BLOCK):
            yield self._rows[first : first + BLOCK]


class InMemoryBlocks:
    """Blocks in memory, as they came."""

    def __init__(self, blocks: Sequence[Array], width: int):
        self._blocks = blocks
        self.shape = (sum(len(block) for block in blocks), width)

    def blocks(self) -> Iterator[Array]:
        """The blocks."""
        yield from self._blocks


class OnDiskBlocks:
    """Blocks of so many rows each in a file of float32, and nothing else in it."""

    def __init__(self, path: Path, lengths: Sequence[int], width: int):
        self._path = path
        self._lengths = lengths
        self.shape = (sum(lengths), width)

    def blocks(self) -> Iterator[Array]:
        """The blocks."""
        width = self.shape[1]
        with self._path.open("rb") as file:
            for length in self._lengths:
                yield np.fromfile(file, np.float32, length * width).reshape(length, width)


def store_blocks(blocks: Iterable[Array], width: int, path: Path | None) -> Rows:
    """Blocks (n, width), in memory or in the file at `path`."""
    if path is None:
        return InMemoryBlocks([np.asarray(block, np.float32) for block in blocks], width)
    lengths: list[int] = []
    with replace_file(path) as file:
        for block in blocks:
            file.write(np.ascontiguousarray(block, np.float32).tobytes())
            lengths.append(len(block))
    return OnDiskBlocks(path, lengths, width)


def gather_rows(rows: Iterable[Array], width: int, path: Path | None) -> Rows:
    """Rows of length `width`, one after the other, in memory or in the file at `path`."""
    rest = iter(rows)

    def block_rows() -> Iterator[Array]:
        while some := list(islice(rest, BLOCK)):
            yield np.array(some, np.float32)

    return store_blocks(block_rows(), width, path)


def pick_rows(rows: Rows, which: Ints) -> Array:
    """(len(which), D) some of the rows."""
    found = np.empty((len(which), rows.shape[1]), np.float32)
    for here, block in number_blocks(rows):
        mine = (which >= here.start) & (which < here.stop)
        found[mine] = block[which[mine] - here.start]
    return found


def number_blocks(rows: Rows) -> Iterator[tuple[slice, Array]]:
    """Blocks with the rows they hold."""
    last = 0
    for block in rows.blocks():
        check_stop()
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
