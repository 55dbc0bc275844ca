"""Proposals for the free factors, and their usage after training.

No tag limits the photos of a free factor, and coordinate ascent leaves free factors mixed: one stands for the sum of
two. After the tagged factors have converged, the residual is R = Z_free A_free + noise with binary Z: independent,
strongly non-Gaussian sources, which is the model of independent component analysis (ICA). A proposal consists of the
components of ICA as new appearances, scaled so that a source is 0 or 1. The fit tries it in a trial (`model.fit`).

A contrast is the statistic that ICA maximises. There is one proposal for each of two. The kurtosis of a Bernoulli(p)
source vanishes at p = 0.21 and 0.79 and its skewness at p = 0.5. A contrast cannot separate two sources for which it
vanishes, so there is a second proposal with the other.
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from tagsight.model.layout import Shard, scatter_assign
from tagsight.model.sampling import Sample, draw_rows
from tagsight.model.settings import Factors
from tagsight.model.start import find_centres
from tagsight.model.state import Appearance, Globals, SummaryStatistics
from tagsight.types import Array, Floats, Ints

ICA_SAMPLE = 8_000  # regions
SIGNAL = 1.5  # a component is signal if its power exceeds the noise edge by this factor
FEWEST_REGIONS = 1.0  # expected regions below which a free factor is unused

Contrast = Callable[[Floats], tuple[Floats, Floats]]


def skewness(x: Floats) -> tuple[Floats, Floats]:
    """Return x^2 and the mean of its derivative, as FastICA expects of a contrast."""
    return x**2, 2.0 * x.mean(axis=-1)


def kurtosis(x: Floats) -> tuple[Floats, Floats]:
    """Return x^3 and the mean of its derivative, as FastICA expects of a contrast."""
    return x**3, 3.0 * (x**2).mean(axis=-1)


CONTRASTS: tuple[Contrast, ...] = (skewness, kurtosis)


def sample_residuals(shard: Shard, assign: Array, state: Globals, factors: Factors, size: int, seed: int) -> Sample:
    """Return a sample of the shard's regions, at flat `assign`, minus the contribution of the tagged factors."""
    return subtract_tagged(sample_regions(shard, assign, factors, size, seed), state, factors)


def sample_regions(shard: Shard, assign: Array, factors: Factors, size: int, seed: int) -> Sample:
    """Return a sample of the shard's regions: rows (n, D + tagged) of features followed by the tagged factors' nu."""
    X, layout, _ = shard
    keys, rows = draw_rows(X, layout.rows, size, seed)
    target = np.full(len(X), -1)
    target[rows] = np.arange(len(rows))
    nu = np.zeros((len(rows), factors.total), X.dtype)
    scatter_assign(layout, assign, target, nu)
    return Sample(keys, np.hstack([X[rows], nu[:, : factors.tagged]]))


def subtract_tagged(sample: Sample, state: Globals, factors: Factors) -> Sample:
    """Return x - sum_k nu_k phi_k over the tagged factors k, for the rows of `sample_regions`."""
    mean = state.appearance.mean[: factors.tagged]
    x, nu = np.hsplit(sample.rows, [mean.shape[1]])
    return Sample(sample.keys, x - nu @ mean)


def propose_free(residual: Array, state: Globals, factors: Factors, contrast: Contrast, seed: int) -> Globals:
    """Return globals with new free factors, found in `residual` (n, D): regions minus their tagged factors.

    Free factors in excess of the components found get appearance 0 and the full prior variance, which keeps them off.
    """
    noise, R = state.scales.noise, residual.astype(np.float64)
    if state.inverse_shape.size:  # rows times L have noise sigma^2 I, where L L^T = Omega^-1
        L = np.linalg.cholesky(state.inverse_shape)
        found = solve_triangular(L, find_sources(R @ L, noise, factors.free, contrast, seed).T, lower=True, trans="T").T
    else:
        found = find_sources(R, noise, factors.free, contrast, seed)
    mean, var = state.appearance.mean.copy(), state.appearance.var.copy()
    mean[factors.tagged :] = 0.0
    mean[factors.tagged : factors.tagged + len(found)] = found
    var[factors.tagged + len(found) :] = state.scales.appearance
    return state._replace(appearance=Appearance(mean, var))


def find_sources(R: Floats, noise: float, most: int, contrast: Contrast, seed: int) -> Floats:
    """Return appearances (q, D), q <= `most`, whose binary sums explain R (n, D) under noise variance `noise`."""
    from sklearn.decomposition import FastICA
    from sklearn.exceptions import ConvergenceWarning

    n, D = R.shape
    power, axes = np.linalg.eigh(R.T @ R / n)
    edge = noise * (1.0 + np.sqrt(D / n)) ** 2  # Marchenko-Pastur
    q = min(most, n, int(np.sum(power > SIGNAL * edge)))
    if q == 0:
        return np.zeros((0, D))
    axes = axes[:, : -q - 1 : -1].T
    Y = R @ axes.T
    ica = FastICA(q, whiten="unit-variance", fun=contrast, max_iter=500, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the bound decides whether the trial is accepted
        ica.fit(Y)
    levels = np.array([_upper_level(source) for source in (Y @ ica.components_.T).T])
    return levels[:, None] * (np.linalg.pinv(ica.components_).T @ axes)


def _upper_level(source: Floats) -> float:
    """Return the value of a source that is on: of two clusters, one of them at 0, the centre of the other."""
    ends = np.array([[source.min()], [source.max()]])
    centres = find_centres(source[:, None], 2, init=ends).ravel()
    return float(centres[np.argmax(np.abs(centres))])


class FreeUsage(NamedTuple):
    """Usage of the free factors in the training photos."""

    regions: Floats  # (n_free,) expected number of regions with the factor on
    unused: Ints  # columns of those on in fewer than FEWEST_REGIONS


def measure_free_usage(summary: SummaryStatistics, factors: Factors) -> FreeUsage:
    """Return the usage of the free factors in the photos of `summary`."""
    regions = summary.count[factors.tagged :]
    return FreeUsage(regions, factors.tagged + np.flatnonzero(regions < FEWEST_REGIONS))
