"""Gaussian filtering of values at scattered points, in time linear in their number.

Adams, Baek and Davis, "Fast high-dimensional filtering using the permutohedral lattice", Eurographics 2010. For points
f_i (d features each) and values v_i, the filter approximates, up to a constant factor,

    out_i = sum_j exp(-|f_i - f_j|^2 / 2) v_j.

The points lie in the plane sum = 0 of d + 1 dimensions, which integer points with equal remainders modulo d + 1 tile
with simplices. Each value is splatted on the d + 1 corners of its simplex by barycentric weights, the corners are
blurred by (1/2, 1, 1/2) along each of the d + 1 lattice directions, and values are sliced back by the same weights.
Splatting, blurring and slicing each add to the variance; features are stretched so that the sum is one. Only
corners that touch a point exist. Values that are blurred into missing corners are lost, so sums at isolated points are
too small.
"""

from typing import Any, NamedTuple

import numpy as np

from tagsight.errors import InputError
from tagsight.runtime.kernels import kernel
from tagsight.types import Array

BITS = 12  # of a packed lattice coordinate
LIMIT = 1 << (BITS - 1)
MOST_FEATURES = 5  # whose packed coordinates fit an int64


class Lattice(NamedTuple):
    """The lattice points ("corners") around a set of points."""

    corner: Array  # (N, d + 1) int32 the corners of each point's simplex
    weight: Array  # (N, d + 1) float32 barycentric, adding to one
    before: Array  # (d + 1, M) int32 neighbour of each corner in the opposite of each direction; M: none
    after: Array  # (d + 1, M) int32


def build_lattice(points: Array) -> Lattice:
    """The lattice of `points` (N, d), d <= 5, whose unit is the filter's standard deviation."""
    d: int = points.shape[1]
    if not 1 <= d <= MOST_FEATURES:
        raise InputError(f"the filter takes 1 to {MOST_FEATURES} features per point, not {d}")
    # The variance of splat, blur and slice together is (d + 1)^2 2/3 in each dimension of the plane.
    stretch = np.sqrt(2 / 3) * (d + 1) / np.sqrt(np.arange(1, d + 1) * np.arange(2, d + 2))
    scaled = (points - points.mean(axis=0)) * stretch
    if np.abs(scaled).sum(axis=1).max() * 2 + d + 1 >= LIMIT:
        raise InputError("the filter's standard deviation is too small for points so far apart; choose a larger one")
    keys, weight = _embed(np.ascontiguousarray(scaled, dtype=np.float32))
    corner, kept = _number(keys.ravel())
    before, after = _neighbours(kept, d)
    return Lattice(corner.reshape(keys.shape), weight, before, after)


def filter_values(lattice: Lattice, values: Array) -> Array:
    """(N, L) float32 filtered `values` (N, L)."""
    return _filter(*lattice, np.ascontiguousarray(values, dtype=np.float32))


@kernel()
def _embed(scaled: Array) -> tuple[Array, Array]:
    """Packed corners (N, d + 1) and barycentric weights (N, d + 1) of scaled points."""
    N, d = scaled.shape
    keys = np.empty((N, d + 1), np.int64)
    weight = np.empty((N, d + 1), np.float32)
    elevated = np.empty(d + 1, np.float32)
    base = np.empty(d + 1, np.int64)
    rank = np.empty(d + 1, np.int64)
    bary = np.empty(d + 2, np.float32)
    for i in range(N):
        running = np.float32(0.0)
        for t in range(d, 0, -1):  # the basis whose k-th vector is (1, .., 1, -k, 0, ..)
            elevated[t] = running - t * scaled[i, t - 1]
            running += scaled[i, t - 1]
        elevated[0] = running
        total = 0
        for t in range(d + 1):  # nearest corner with remainder 0
            base[t] = np.int64(np.rint(elevated[t] / (d + 1))) * (d + 1)
            total += base[t]
        total //= d + 1
        for t in range(d + 1):
            rank[t] = 0
        for t in range(d + 1):
            for u in range(t + 1, d + 1):
                if elevated[t] - base[t] < elevated[u] - base[u]:
                    rank[t] += 1
                else:
                    rank[u] += 1
        for t in range(d + 1):  # back into the plane
            rank[t] += total
            if rank[t] < 0:
                rank[t] += d + 1
                base[t] += d + 1
            elif rank[t] > d:
                rank[t] -= d + 1
                base[t] -= d + 1
        bary[:] = 0.0
        for t in range(d + 1):
            delta = (elevated[t] - base[t]) / (d + 1)
            bary[d - rank[t]] += delta
            bary[d + 1 - rank[t]] -= delta
        bary[0] += np.float32(1.0) + bary[d + 1]
        for remainder in range(d + 1):
            key = np.int64(0)
            for t in range(d):  # the last coordinate follows from the others
                coordinate = base[t] + remainder - (d + 1 if rank[t] > d - remainder else 0)
                key = (key << BITS) | (coordinate + LIMIT)
            keys[i, remainder] = key
            weight[i, remainder] = bary[remainder]
    return keys, weight


@kernel()
def _number(keys: Array) -> tuple[Array, Array]:
    """The number of each key, in the order of first appearance, and the distinct keys in that order."""
    table, mask = _make_table(len(keys))
    numbers = np.empty(len(keys), np.int32)
    distinct = np.empty(len(keys), np.int64)
    count = 0
    for i in range(len(keys)):
        slot = _hash(keys[i]) & mask
        while table[slot] >= 0 and distinct[table[slot]] != keys[i]:
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot] = count
            distinct[count] = keys[i]
            count += 1
        numbers[i] = table[slot]
    return numbers, distinct[:count].copy()


@kernel()
def _neighbours(keys: Array, d: int) -> tuple[Array, Array]:
    """The corners one step along each direction: d less in one coordinate, 1 more in each of the others."""
    M = len(keys)
    table, mask = _make_table(M)
    for i in range(M):
        slot = _hash(keys[i]) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = i
    before, after = np.empty((d + 1, M), np.int32), np.empty((d + 1, M), np.int32)
    ones = np.int64(0)
    for _ in range(d):
        ones = (ones << BITS) | np.int64(1)
    for direction in range(d + 1):
        step = ones
        if direction < d:
            step -= np.int64(d + 1) << (BITS * (d - 1 - direction))
        for i in range(M):
            for sign in (-1, 1):
                key = keys[i] + sign * step
                slot = _hash(key) & mask
                while table[slot] >= 0 and keys[table[slot]] != key:
                    slot = (slot + 1) & mask
                found = table[slot] if table[slot] >= 0 else M
                if sign < 0:
                    before[direction, i] = found
                else:
                    after[direction, i] = found
    return before, after


@kernel()
def _make_table(n: int) -> tuple[Array, int]:
    size = 16
    while size < 2 * n:
        size *= 2
    return np.full(size, -1, np.int32), size - 1


@kernel()
def _hash(key: int) -> Any:
    mixed = (key ^ (key >> 29)) * np.int64(-4658895280553007687)
    return (mixed ^ (mixed >> 32)) & np.int64(0x7FFFFFFFFFFFFFFF)


@kernel(fastmath=True)
def _filter(corner: Array, weight: Array, before: Array, after: Array, values: Array) -> Array:
    N, L = values.shape
    d1, M = before.shape
    now = np.zeros((M + 1, L), np.float32)  # the last row stands for missing corners
    blurred = np.zeros((M + 1, L), np.float32)
    for i in range(N):
        for t in range(d1):
            w, c = weight[i, t], corner[i, t]
            for label in range(L):
                now[c, label] += w * values[i, label]
    for direction in range(d1):
        for c in range(M):
            a, b = before[direction, c], after[direction, c]
            for label in range(L):
                blurred[c, label] = now[c, label] + np.float32(0.5) * (now[a, label] + now[b, label])
        now, blurred = blurred, now
    out = np.zeros((N, L), np.float32)
    for i in range(N):
        for t in range(d1):
            w, c = weight[i, t], corner[i, t]
            for label in range(L):
                out[i, label] += w * now[c, label]
    return out
