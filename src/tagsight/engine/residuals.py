"""What the tagged factors leave of a sample of regions."""

import numpy as np

from tagsight.model.layout import Shard, spread_assign
from tagsight.model.sampling import Sample, draw_rows
from tagsight.model.settings import Factors
from tagsight.model.state import Globals
from tagsight.types import Array


def sample_residuals(shard: Shard, assign: Array, state: Globals, factors: Factors, size: int, seed: int) -> Sample:
    """A sample of the shard's regions, at flat `assign`, with the tagged factors' share taken away."""
    X, layout, _ = shard
    lots, rows = draw_rows(X, layout.rows, size, seed)
    mean = state.appearance.mean[: factors.tagged]
    place = np.full(len(X), -1)
    place[rows] = np.arange(len(rows))
    nu = np.zeros((len(rows), factors.total), X.dtype)
    spread_assign(layout, assign, place, nu)
    return Sample(lots, X[rows] - nu[:, : factors.tagged] @ mean)
