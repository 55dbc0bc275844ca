"""What the tagged factors leave of a sample of regions."""

import numpy as np

from tagsight.model.layout import Shard, spread_assign
from tagsight.model.sampling import Sample, draw_rows
from tagsight.model.settings import Factors
from tagsight.model.state import Globals
from tagsight.types import Array


def sample_residuals(shard: Shard, assign: Array, state: Globals, factors: Factors, size: int, seed: int) -> Sample:
    """A sample of the shard's regions, at flat `assign`, with the tagged factors' share taken away."""
    return take_tagged_away(sample_regions(shard, assign, factors, size, seed), state, factors)


def sample_regions(shard: Shard, assign: Array, factors: Factors, size: int, seed: int) -> Sample:
    """A sample of the shard's regions: rows (n, D + tagged) of features and, beside them, of tagged nu."""
    X, layout, _ = shard
    lots, rows = draw_rows(X, layout.rows, size, seed)
    place = np.full(len(X), -1)
    place[rows] = np.arange(len(rows))
    nu = np.zeros((len(rows), factors.total), X.dtype)
    spread_assign(layout, assign, place, nu)
    return Sample(lots, np.hstack([X[rows], nu[:, : factors.tagged]]))


def take_tagged_away(sample: Sample, state: Globals, factors: Factors) -> Sample:
    """x - sum_k nu_k phi_k over the tagged factors k, for rows of `sample_regions`."""
    mean = state.appearance.mean[: factors.tagged]
    x, nu = np.hsplit(sample.rows, [mean.shape[1]])
    return Sample(sample.lots, x - nu @ mean)
