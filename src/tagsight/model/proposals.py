r"""A second chance for the free factors, which no tag holds in place.

Coordinate ascent leaves free factors mixed: one stands for the sum of two. Once the tagged factors are
settled, what they leave unexplained is R = Z_free A_free + noise with binary Z: independent, strongly
non-Gaussian sources, which is the model of independent component analysis. Its components, scaled so that a
source is 0 or 1, are proposed as new appearances; the fit keeps them only if they end at a higher bound.

Two contrasts are tried. The kurtosis of a Bernoulli(p) source vanishes at p = 0.21 and 0.79 and its skewness
at p = 0.5; a contrast can do without one source, not without two, so what one mixes the other may part.
"""

import warnings
from collections.abc import Callable

import numpy as np
from scipy.linalg import solve_triangular

from tagsight.model.kmeans import find_centres
from tagsight.model.settings import Factors
from tagsight.model.state import Appearance, Globals
from tagsight.types import Array, Floats

SAMPLE = 8_000  # regions
SIGNAL = 1.5  # a component is signal when its power is so many times the edge of the noise

Contrast = Callable[[Floats], tuple[Floats, Floats]]


def skewness(x: Floats) -> tuple[Floats, Floats]:
    """x^2 and the mean of its derivative, as FastICA wants a contrast."""
    return x**2, 2.0 * x.mean(axis=-1)


def kurtosis(x: Floats) -> tuple[Floats, Floats]:
    """x^3 and the mean of its derivative."""
    return x**3, 3.0 * (x**2).mean(axis=-1)


CONTRASTS: tuple[Contrast, ...] = (skewness, kurtosis)


def propose_free(residual: Array, state: Globals, factors: Factors, contrast: Contrast, seed: int) -> Globals:
    """Globals with the free factors drawn anew from `residual` (n, D), what tagged factors leave unexplained.

    Components below the noise get no appearance and the full prior variance, which keeps them off.
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
    """Appearances (q, D), q <= `most`, whose binary sums explain R (n, D) under noise variance `noise`."""
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
        warnings.simplefilter("ignore", ConvergenceWarning)  # the bound judges the proposal
        ica.fit(Y)
    levels = np.array([_upper_level(source) for source in (Y @ ica.components_.T).T])
    return levels[:, None] * (np.linalg.pinv(ica.components_).T @ axes)


def _upper_level(source: Floats) -> float:
    """The value that stands for 'on' when the values gather at 0 and at one other."""
    ends = np.array([[source.min()], [source.max()]])
    centres = find_centres(source[:, None], 2, init=ends).ravel()
    return float(centres[np.argmax(np.abs(centres))])
