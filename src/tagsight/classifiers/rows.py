"""Training rows of linear classifiers, read block by block from memory or from a file.

Blocks are the same in memory and on disk, and all sums run over blocks, so both give the same result.
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


class BlockedRows(Protocol):
    """Rows (n, D) float32."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n, D)."""
        ...

    def blocks(self) -> Iterator[Array]:
        """Yield the rows in blocks (m, D); the blocks are the same at every call."""
        ...


class InMemoryRows:
    """One array of rows, cut into blocks of BLOCK rows."""

    def __init__(self, rows: Array):
        self._rows = rows
        self.shape: tuple[int, int] = rows.shape

    def blocks(self) -> Iterator[Array]:
        """Yield the blocks."""
        for first in range(0, len(self._rows), BLOCK):
            yield self._rows[first : first + BLOCK]


class InMemoryBlocks:
    """Blocks in memory, of the lengths they were given in."""

    def __init__(self, blocks: Sequence[Array], width: int):
        self._blocks = blocks
        self.shape = (sum(len(block) for block in blocks), width)

    def blocks(self) -> Iterator[Array]:
        """Yield the blocks."""
        yield from self._blocks


class OnDiskBlocks:
    """Blocks of the given lengths in a raw file of float32."""

    def __init__(self, path: Path, lengths: Sequence[int], width: int):
        self._path = path
        self._lengths = lengths
        self.shape = (sum(lengths), width)

    def blocks(self) -> Iterator[Array]:
        """Yield the blocks."""
        width = self.shape[1]
        with self._path.open("rb") as file:
            for length in self._lengths:
                yield np.fromfile(file, np.float32, length * width).reshape(length, width)


def store_blocks(blocks: Iterable[Array], width: int, path: Path | None) -> BlockedRows:
    """Store blocks (m, width) in the file at `path`, or in memory where it is None."""
    if path is None:
        return InMemoryBlocks([np.asarray(block, np.float32) for block in blocks], width)
    lengths: list[int] = []
    with replace_file(path) as file:
        for block in blocks:
            file.write(np.ascontiguousarray(block, np.float32).tobytes())
            lengths.append(len(block))
    return OnDiskBlocks(path, lengths, width)


def store_rows(rows: Iterable[Array], width: int, path: Path | None) -> BlockedRows:
    """Store single rows (width,) in the file at `path`, or in memory where it is None."""
    rest = iter(rows)

    def block_rows() -> Iterator[Array]:
        while block := list(islice(rest, BLOCK)):
            yield np.array(block, np.float32)

    return store_blocks(block_rows(), width, path)


def take_rows(rows: BlockedRows, indices: Ints) -> Array:
    """(len(indices), D) the rows at `indices`."""
    taken = np.empty((len(indices), rows.shape[1]), np.float32)
    for span, block in enumerate_blocks(rows):
        inside = (indices >= span.start) & (indices < span.stop)
        taken[inside] = block[indices[inside] - span.start]
    return taken


def enumerate_blocks(rows: BlockedRows) -> Iterator[tuple[slice, Array]]:
    """Yield each block with the slice of rows it holds."""
    last = 0
    for block in rows.blocks():
        check_stop()
        first, last = last, last + len(block)
        yield slice(first, last), block


def compute_mean_std(rows: BlockedRows) -> tuple[Floats, Floats]:
    """(D,) mean and standard deviation of each column."""
    n, width = rows.shape
    mean = sum((block.sum(axis=0, dtype=np.float64) for block in rows.blocks()), np.zeros(width)) / n
    square = np.zeros(width)
    for block in rows.blocks():
        square += np.sum((block - mean) ** 2, axis=0)
    return mean, np.sqrt(square / n)
