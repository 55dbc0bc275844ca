"""The global step: from a summary to the global posterior; each update maximises the bound."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import digamma, gammaln

from tagsight.model.fields import correlate_tagged
from tagsight.model.noise import fit_full_noise, weight_by_shape
from tagsight.model.settings import Settings
from tagsight.model.state import ISOTROPIC, Appearance, Globals, Scales, Sparsity, SummaryStatistics
from tagsight.types import Floats

SPARSITY_SHAPE, SPARSITY_RATE = 1.0, 1.0  # Gamma prior of every alpha
SMALLEST_VARIANCE = 1e-10


def global_step(summary: SummaryStatistics, state: Globals, settings: Settings) -> Globals:
    """Update appearance, scales, sparsity and affinity, in that order."""
    prior_precision = compute_prior_precision(settings, state.scales)
    appearance = solve_appearance(summary, state.scales, prior_precision)
    r = settings.shrinkage
    if settings.noise == "full":
        appearance, noise, inverse_shape = fit_full_noise(
            summary, appearance, state.scales.noise, prior_precision, state.inverse_shape
        )
    else:
        noise, inverse_shape = fit_noise(summary, appearance, prior_precision if r else None), ISOTROPIC
    scale = noise / r if r else fit_appearance_scale(appearance, inverse_shape)
    return Globals(
        appearance=appearance,
        scales=Scales(noise, scale),
        sparsity=fit_sparsity(summary) if settings.sparsity is None else state.sparsity,
        affinity=correlate_tagged(summary, settings) if settings.learn_affinity else state.affinity,
        inverse_shape=inverse_shape,
    )


def compute_prior_precision(settings: Settings, scales: Scales) -> Floats:
    """Return (K,) r_k = sigma^2 / sigma_Ak^2: each prior's precision relative to that of the noise, in regions."""
    objects, attributes, free = settings.factors
    if settings.shrinkage is None:
        return np.full(settings.factors.total, scales.noise / scales.appearance)
    of_attributes = settings.shrinkage if settings.attribute_shrinkage is None else settings.attribute_shrinkage
    return np.repeat([settings.shrinkage, of_attributes, settings.shrinkage], [objects, attributes, free])


def solve_appearance(summary: SummaryStatistics, scales: Scales, prior_precision: Floats) -> Appearance:
    """(C + diag(r)) phi = Y;  Phi_k = sigma^2 / (r_k + n_k), with r the `prior_precision` (K,).

    The bound is a concave quadratic in all phi jointly. The paper updates one k after another; the fixed point of its
    updates is this solution.
    """
    factor = cho_factor(summary.pair + np.diag(prior_precision), lower=True)
    return Appearance(
        # the memory order of a loaded checkpoint, for identical results
        mean=np.ascontiguousarray(cho_solve(factor, summary.cross)),
        var=scales.noise / (prior_precision + summary.count),
    )


def expect_residual(summary: SummaryStatistics, appearance: Appearance, inverse_shape: Floats = ISOTROPIC) -> float:
    """E sum_j |x_j - sum_k z_jk A_k|^2 = sum |x|^2 - 2 <Y, phi> + <C, phi phi^T> + D sum_k n_k Phi_k.

    Norms and inner products are weighted by Omega^-1, the `inverse_shape`, if it is given.
    """
    mean, var = appearance
    weighted = weight_by_shape(mean, inverse_shape)
    explained = 2.0 * np.vdot(summary.cross, weighted) - np.vdot(summary.pair, weighted @ mean.T)
    return float(_sum_squares(summary, inverse_shape) - explained + mean.shape[1] * summary.count @ var)


def _sum_squares(summary: SummaryStatistics, inverse_shape: Floats) -> float:
    """sum_j x_j Omega^-1 x_j."""
    if inverse_shape.size:
        return float(np.vdot(inverse_shape, summary.square))
    return float(np.trace(summary.square)) if np.ndim(summary.square) else float(summary.square)


def mean_square(summary: SummaryStatistics) -> float:
    """Return the mean of x_jd^2 over regions and dimensions."""
    return _sum_squares(summary, ISOTROPIC) / (summary.n_regions * summary.cross.shape[1])


def fit_noise(summary: SummaryStatistics, appearance: Appearance, prior_precision: Floats | None = None) -> float:
    """sigma^2: the expected residual over N D.

    With a fixed `prior_precision` r (K,) the appearances' variances are sigma^2 / r_k, and sigma^2 is
    (residual + sum_k r_k (|phi_k|^2 + D Phi_k)) / (N D + K D).
    """
    mean, var = appearance
    D = mean.shape[1]
    residual, n_values = expect_residual(summary, appearance), summary.n_regions * D
    if prior_precision is not None:
        residual += float(prior_precision @ (np.sum(mean**2, axis=1) + D * var))
        n_values += mean.size
    return max(residual / n_values, SMALLEST_VARIANCE)


def fit_appearance_scale(appearance: Appearance, inverse_shape: Floats = ISOTROPIC) -> float:
    """sigma_A^2 = sum_k (phi_k Omega^-1 phi_k + D Phi_k) / (K D)."""
    mean, var = appearance
    sizes: Floats = np.mean(mean * weight_by_shape(mean, inverse_shape), axis=1)
    return max(float(np.mean(sizes + var)), SMALLEST_VARIANCE)


def fit_sparsity(summary: SummaryStatistics) -> Sparsity:
    """q(alpha_s) = Gamma(a_0 + number of sticks, b_0 - sum E[log v])."""
    shape = SPARSITY_SHAPE + summary.n_sticks
    rate = SPARSITY_RATE - summary.log_sticks
    mean = shape / rate
    log_mean = digamma(shape) - np.log(rate)
    prior = (SPARSITY_SHAPE - 1) * log_mean - SPARSITY_RATE * mean
    prior += SPARSITY_SHAPE * np.log(SPARSITY_RATE) - gammaln(SPARSITY_SHAPE)
    entropy = shape - np.log(rate) + gammaln(shape) + (1 - shape) * digamma(shape)
    return Sparsity(mean, log_mean, float(np.sum(prior + entropy)))


def fix_sparsity(alpha: Floats) -> Sparsity:
    """Return the record of fixed alpha (S,), one per sequence."""
    return Sparsity(np.asarray(alpha, float), np.log(alpha), 0.0)
