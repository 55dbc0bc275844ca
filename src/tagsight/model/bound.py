r"""The bound that every update increases, as named terms, computed from a summary and the globals.

The log-normaliser of the fields depends on pi and is dropped, as in the paper: the bound is that of the unnormalised
joint. M is part of that joint, so updates increase the bound only while M is fixed.
"""

from typing import NamedTuple

import numpy as np

from tagsight.model.fields import affinity_energy
from tagsight.model.global_step import compute_prior_precision, expect_residual
from tagsight.model.noise import log_determinant, log_noise_prior, weight_by_shape
from tagsight.model.settings import Settings
from tagsight.model.state import Globals, SummaryStatistics

LOG_2PI = float(np.log(2 * np.pi))


class Bound(NamedTuple):
    """Terms of the bound; their sum is the bound."""

    likelihood: float  # E[log p(X | Z, A)]
    noise: float  # log p(Sigma); 0 where the noise is isotropic
    appearance: float  # E[log p(A)] + H[q(A)]
    assignments: float  # E[log p(Z | v)], multinomial bound
    assign_entropy: float  # H[q(Z)]
    sticks: float  # E[log p(v | alpha)] + H[q(v)]
    sparsity: float  # E[log p(alpha)] + H[q(alpha)]
    spatial: float  # beta sum of expected agreement of neighbours
    affinity: float  # rho sum of M_kl nu_k nu_l, or of their deviations

    @property
    def total(self) -> float:
        """The sum of all terms."""
        return float(sum(self))


def evaluate_bound(summary: SummaryStatistics, state: Globals, settings: Settings) -> Bound:
    """Return the bound at the globals `state` and the local posterior that `summary` is computed from."""
    mean, var = state.appearance
    D = mean.shape[1]
    noise = state.scales.noise
    prior_precision = compute_prior_precision(settings, state.scales)
    sparsity = state.sparsity
    n_values = summary.n_regions * D
    full = settings.noise == "full"
    residual = expect_residual(summary, state.appearance, state.inverse_shape)
    log_noise = D * np.log(noise) + log_determinant(state.inverse_shape)
    size = np.sum(mean * weight_by_shape(mean, state.inverse_shape), axis=1) + D * var
    log_v = sparsity.log_mean * summary.n_sticks + (sparsity.mean - 1.0) * summary.log_sticks
    return Bound(
        likelihood=-0.5 * float(n_values * LOG_2PI + summary.n_regions * log_noise + residual / noise),
        noise=log_noise_prior(summary, noise, state.inverse_shape) if full else 0.0,
        appearance=0.5
        * float(D * np.sum(np.log(var * prior_precision / noise) + 1.0) - prior_precision @ size / noise),
        assignments=summary.log_prior,
        assign_entropy=summary.assign_entropy,
        sticks=float(np.sum(log_v)) + summary.stick_entropy,
        sparsity=sparsity.bound,
        spatial=settings.coupling * summary.agreement,
        affinity=settings.affinity * affinity_energy(state.affinity, summary, settings.centred),
    )
