"""Random numbers and samples keyed by a region's content, so that order and sharding cannot change them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tagsight.runtime.kernels import kernel
from tagsight.types import Array, Floats, Ints

CHUNK = 4096  # rows

UInts = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]


def hash_rows(X: Array, rows: Ints) -> UInts:
    """A 64-bit key for each of the given rows, from all its bits at single precision."""
    keys = np.empty(len(rows), np.uint64)
    for first in range(0, len(rows), CHUNK):
        some = slice(first, first + CHUNK)
        with np.errstate(over="ignore"):  # what single precision cannot hold is all the same to a hash
            single = np.ascontiguousarray(X[rows[some]], np.float32)
        keys[some] = _hash_words(single.view(np.uint32))
    return keys


def uniform(keys: UInts, n_columns: int, seed: int) -> Floats:
    """Numbers in (0, 1), (len(keys), n_columns): a function of key, column and seed alone."""
    column = _mix(np.arange(n_columns, dtype=np.uint64) + _mix(np.array([seed], np.uint64)))
    return ((_mix(keys[:, None] ^ column) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


class Sample(NamedTuple):
    """Rows with the smallest lots."""

    lots: Floats  # (n,) ascending
    rows: Array  # (n, ...)


def draw_rows(X: Array, rows: Ints, size: int, seed: int) -> Sample:
    """Up to `size` of the given row numbers, with the smallest lots drawn from their content."""
    lots = uniform(hash_rows(X, rows), 1, seed)[:, 0]
    pick = np.argsort(lots, kind="stable")[:size]
    return Sample(lots[pick], rows[pick])


def merge_samples(samples: Sequence[Sample], size: int) -> Sample:
    """The sample of all blocks together, from the samples of each."""
    lots = np.concatenate([sample.lots for sample in samples])
    rows = np.concatenate([sample.rows for sample in samples])
    pick = np.argsort(lots, kind="stable")[:size]
    return Sample(lots[pick], rows[pick])


def _mix(x: UInts) -> UInts:
    """The finaliser of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel()
def _hash_words(words: Array) -> UInts:
    keys = np.empty(len(words), np.uint64)
    for r in range(len(words)):
        key = np.uint64(0x9E3779B97F4A7C15)
        for word in words[r]:
            key = (key ^ np.uint64(word)) * np.uint64(0xFF51AFD7ED558CCD)
            key ^= key >> np.uint64(32)
        keys[r] = key
    return keys
