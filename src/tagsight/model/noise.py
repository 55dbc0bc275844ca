r"""A full noise covariance Sigma = sigma^2 Omega, with tr Omega = D.

Appearances share Omega, A_k ~ N(0, sigma_A^2 Omega) and q(A_k) = N(phi_k, Phi_k Omega). So Omega cancels in the
equation for phi, and in coordinates in which Sigma is the identity this is the isotropic model. The prior is

    Sigma ~ IW(nu_0, nu_0 s I),    nu_0 = PRIOR_REGIONS_PER_DIMENSION D,

which shrinks Sigma towards an isotropic covariance with the weight of nu_0 regions of isotropic noise. The scale s is a
point estimate: the density is highest at s = D / tr Sigma^-1, the harmonic mean of the eigenvalues. It is at least
FLOOR times the mean square of the features, because directions without variance would otherwise shrink it to 0. The
estimate of Sigma is a mode, and too low by a factor of about N / (N + D + 1).
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import multigammaln

from tagsight.model.state import Appearance, SummaryStatistics
from tagsight.types import Floats

PRIOR_REGIONS_PER_DIMENSION = 50.0
FLOOR = 1e-6
SMALLEST = 1e-10  # of s, where all features are 0


class FullNoise(NamedTuple):
    """Result of an update of Sigma."""

    appearance: Appearance
    noise: float  # sigma^2
    inverse_shape: Floats  # (D, D) inverse of Omega


def weight_by_shape(rows: Floats, inverse_shape: Floats) -> Floats:
    """Return rows (n, D) times the inverse of Omega; the rows themselves if Omega = I."""
    return rows @ inverse_shape if inverse_shape.size else rows


def fit_full_noise(
    summary: SummaryStatistics, appearance: Appearance, noise: float, prior_precision: Floats, inverse_shape: Floats
) -> FullNoise:
    r"""Update Sigma, given the `appearance` that was solved with the old `noise` sigma^2 and `inverse_shape`.

    With r_k = sigma^2 / sigma_Ak^2, the `prior_precision`, and f_k = Phi_k / sigma^2, which are held fixed, the
    terms of the bound in Sigma are

        -(N + nu_0 + D + 1) / 2 log |Sigma| - 1/2 tr Sigma^-1 (U + sum_k r_k phi_k^T phi_k + nu_0 s I),
        U = sum_j x_j x_j^T - phi^T Y - Y^T phi + phi^T C phi,

    since log |Sigma| of p(A) and of the entropy of q(A) cancel. The maximum is the matrix in brackets divided by
    N + nu_0 + D + 1, with s computed from the old Sigma.
    """
    mean, var = appearance
    D = mean.shape[1]
    relative_var = var / noise
    prior_regions = PRIOR_REGIONS_PER_DIMENSION * D
    prior = prior_regions * prior_scale(summary, noise, inverse_shape) * np.eye(D)
    total = sum_residuals(summary, mean) + (mean.T * prior_precision) @ mean + prior
    covariance = (total + total.T) / (2.0 * (summary.n_regions + prior_regions + D + 1.0))
    noise = float(np.trace(covariance)) / D
    return FullNoise(Appearance(mean, noise * relative_var), noise, _invert(covariance / noise))


def sum_residuals(summary: SummaryStatistics, mean: Floats) -> Floats:
    """Return U (D, D), the scatter of the residuals: sum_j E[(x_j - z_j phi)^T (x_j - z_j phi)]."""
    cross = summary.cross.T @ mean
    return summary.square - cross - cross.T + mean.T @ summary.pair @ mean


def log_determinant(inverse_shape: Floats) -> float:
    """Return log |Omega|."""
    return -float(np.linalg.slogdet(inverse_shape)[1]) if inverse_shape.size else 0.0


def log_noise_prior(summary: SummaryStatistics, noise: float, inverse_shape: Floats) -> float:
    """Return log p(Sigma) at the optimal s."""
    D = summary.cross.shape[1]
    prior_regions = PRIOR_REGIONS_PER_DIMENSION * D
    scale = prior_scale(summary, noise, inverse_shape)
    constant = 0.5 * prior_regions * D * np.log(0.5 * prior_regions * scale) - float(
        multigammaln(0.5 * prior_regions, D)
    )
    log_covariance = D * np.log(noise) + log_determinant(inverse_shape)
    trace = 0.5 * prior_regions * scale * _sum_inverses(noise, inverse_shape, D)
    return float(constant - 0.5 * (prior_regions + D + 1.0) * log_covariance - trace)


def prior_scale(summary: SummaryStatistics, noise: float, inverse_shape: Floats) -> float:
    """Return s = D / tr Sigma^-1, or FLOOR times the mean square of the features if that is larger."""
    D = summary.cross.shape[1]
    square = float(np.trace(np.atleast_2d(summary.square))) / (summary.n_regions * D)
    return max(D / _sum_inverses(noise, inverse_shape, D), FLOOR * square, SMALLEST)


def _sum_inverses(noise: float, inverse_shape: Floats, D: int) -> float:
    """tr Sigma^-1."""
    return float(np.trace(inverse_shape)) / noise if inverse_shape.size else D / noise


def _invert(covariance: Floats) -> Floats:
    inverse = cho_solve(cho_factor(covariance, lower=True), np.eye(len(covariance)))
    return (inverse + inverse.T) / 2.0
