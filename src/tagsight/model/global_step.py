"""The tiny step: from a summary to the global posterior, each update a maximum of the bound."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import digamma, gammaln

from tagsight.model.fields import correlate_tagged
from tagsight.model.noise import fit_full_noise, weight_by_shape
from tagsight.model.settings import Settings
from tagsight.model.state import ISOTROPIC, Appearance, Globals, Scales, Sparsity, Summary
from tagsight.types import Floats

SPARSITY_SHAPE, SPARSITY_RATE = 1.0, 1.0  # Gamma prior of every alpha
SMALLEST_VARIANCE = 1e-10


def global_step(summary: Summary, state: Globals, settings: Settings) -> Globals:
    """Update appearance, scales, sparsity and affinity, in that order."""
    appearance = solve_appearance(summary, state.scales)
    if settings.noise == "full":
        appearance, scales, inverse_shape = fit_full_noise(summary, appearance, state.scales, state.inverse_shape)
    else:
        scales = Scales(fit_noise(summary, appearance), fit_appearance_scale(appearance))
        inverse_shape = ISOTROPIC
    return Globals(
        appearance=appearance,
        scales=scales,
        sparsity=fit_sparsity(summary) if settings.sparsity is None else state.sparsity,
        affinity=correlate_tagged(summary, settings.factors) if settings.learn_affinity else state.affinity,
        inverse_shape=inverse_shape,
    )


def solve_appearance(summary: Summary, scales: Scales) -> Appearance:
    """(C + (sigma^2 / sigma_A^2) I) phi = S;  Phi_k = 1 / (1 / sigma_A^2 + n_k / sigma^2).

    The bound is a concave quadratic in all phi at once. The paper visits the k one after another;
    the fixed point of that is this solve.
    """
    ridge = scales.noise / scales.appearance
    factor = cho_factor(summary.pair + ridge * np.eye(len(summary.count)), lower=True)
    return Appearance(
        mean=np.ascontiguousarray(cho_solve(factor, summary.cross)),  # as it is after a checkpoint, for equal bits
        var=1.0 / (1.0 / scales.appearance + summary.count / scales.noise),
    )


def expect_residual(summary: Summary, appearance: Appearance, inverse_shape: Floats = ISOTROPIC) -> float:
    """E sum_j |x_j - sum_k z_jk A_k|^2 = sum |x|^2 - 2 <S, phi> + <C, phi phi^T> + D sum_k n_k Phi_k.

    Lengths and products are those of Omega^-1 where `inverse_shape` is given.
    """
    mean, var = appearance
    weighted = weight_by_shape(mean, inverse_shape)
    explained = 2.0 * np.vdot(summary.cross, weighted) - np.vdot(summary.pair, weighted @ mean.T)
    return float(_sum_squares(summary, inverse_shape) - explained + mean.shape[1] * summary.count @ var)


def _sum_squares(summary: Summary, inverse_shape: Floats) -> float:
    """sum_j x_j Omega^-1 x_j."""
    if inverse_shape.size:
        return float(np.vdot(inverse_shape, summary.square))
    return float(np.trace(summary.square)) if np.ndim(summary.square) else float(summary.square)


def mean_square(summary: Summary) -> float:
    """The mean of x_jd^2 over regions and dimensions."""
    return _sum_squares(summary, ISOTROPIC) / (summary.n_regions * summary.cross.shape[1])


def fit_noise(summary: Summary, appearance: Appearance) -> float:
    """sigma^2: the expected residual over N D."""
    n_values = summary.n_regions * appearance.mean.shape[1]
    return max(expect_residual(summary, appearance) / n_values, SMALLEST_VARIANCE)


def fit_appearance_scale(appearance: Appearance) -> float:
    """sigma_A^2 = sum_k (|phi_k|^2 + D Phi_k) / (K D)."""
    mean, var = appearance
    return max(float(np.mean(np.mean(mean**2, axis=1) + var)), SMALLEST_VARIANCE)


def fit_sparsity(summary: Summary) -> Sparsity:
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
    """Sparsity known beforehand, one alpha a sequence."""
    return Sparsity(np.asarray(alpha, float), np.log(alpha), 0.0)
