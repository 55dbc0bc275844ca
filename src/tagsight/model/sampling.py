"""Random numbers and samples as functions of the regions' features, so that order and sharding cannot change them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tagsight.runtime.kernels import kernel
from tagsight.types import Array, Floats, Ints

CHUNK = 4096  # rows

UInts = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]


def hash_rows(X: Array, rows: Ints) -> UInts:
    """Return a 64-bit hash of each of the given rows, from its bits at single precision."""
    hashes = np.empty(len(rows), np.uint64)
    for first in range(0, len(rows), CHUNK):
        some = slice(first, first + CHUNK)
        with np.errstate(over="ignore"):  # values beyond single precision may share a hash
            single = np.ascontiguousarray(X[rows[some]], np.float32)
        hashes[some] = _hash_words(single.view(np.uint32))
    return hashes


def uniform(hashes: UInts, n_columns: int, seed: int) -> Floats:
    """Return random numbers in (0, 1), (len(hashes), n_columns), that depend on hash, column and seed alone."""
    column = _mix(np.arange(n_columns, dtype=np.uint64) + _mix(np.array([seed], np.uint64)))
    return ((_mix(hashes[:, None] ^ column) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


class Sample(NamedTuple):
    """A random sample: the rows with the smallest random keys."""

    keys: Floats  # (n,) ascending
    rows: Array  # (n, ...)


def draw_rows(X: Array, rows: Ints, size: int, seed: int) -> Sample:
    """Return a sample of up to `size` of the given row numbers."""
    keys = uniform(hash_rows(X, rows), 1, seed)[:, 0]
    pick = np.argsort(keys, kind="stable")[:size]
    return Sample(keys[pick], rows[pick])


def merge_samples(samples: Sequence[Sample], size: int) -> Sample:
    """Return the sample of all blocks of rows, from the sample of each block."""
    keys = np.concatenate([sample.keys for sample in samples])
    rows = np.concatenate([sample.rows for sample in samples])
    pick = np.argsort(keys, kind="stable")[:size]
    return Sample(keys[pick], rows[pick])


def _mix(x: UInts) -> UInts:
    """Apply the finaliser of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel()
def _hash_words(words: Array) -> UInts:
    """Return a hash of each row of 32-bit words (n, W)."""
    hashes = np.empty(len(words), np.uint64)
    for r in range(len(words)):
        code = np.uint64(0x9E3779B97F4A7C15)
        for word in words[r]:
            code = (code ^ np.uint64(word)) * np.uint64(0xFF51AFD7ED558CCD)
            code ^= code >> np.uint64(32)
        hashes[r] = code
    return hashes
