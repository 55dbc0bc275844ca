"""Synthetic data of aPascal's shape: by default 80 regions per photo; 1.5 objects and 12 attributes per photo."""

from typing import NamedTuple

import numpy as np

from tagsight.types import Array, Ints

N_OBJECTS, N_ATTRIBUTES, N_FREE = 20, 64, 20
ROWS, COLUMNS = 8, 10  # regions per photo, a triangulated grid: about five neighbours each


class Workload(NamedTuple):
    """The arguments of `StackedIBP.fit`."""

    X: Array  # (N, D) float32
    tags: Array  # (I, 84)
    groups: Ints  # (N,)
    edges: Ints  # (E, 2)


def draw_workload(n_photos: int, D: int, seed: int, rows: int = ROWS, columns: int = COLUMNS) -> Workload:
    """Photos with random noise as features and independent tags."""
    rng = np.random.default_rng(seed)
    n_regions = rows * columns
    X = rng.standard_normal((n_photos * n_regions, D), dtype=np.float32)
    objects = rng.random((n_photos, N_OBJECTS)) < 1.5 / N_OBJECTS
    attributes = rng.random((n_photos, N_ATTRIBUTES)) < 12 / N_ATTRIBUTES
    tags = np.hstack([objects, attributes]).astype(np.uint8)
    one = grid_edges(rows, columns)
    edges = (one[None] + n_regions * np.arange(n_photos)[:, None, None]).reshape(-1, 2)
    return Workload(X, tags, np.repeat(np.arange(n_photos), n_regions), edges)


def grid_edges(rows: int = ROWS, columns: int = COLUMNS) -> Ints:
    """Neighbours right, below and on one diagonal."""
    cell = np.arange(rows * columns).reshape(rows, columns)
    pairs = [(cell[:, :-1], cell[:, 1:]), (cell[:-1], cell[1:]), (cell[:-1, :-1], cell[1:, 1:])]
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
