"""Records of the posterior: the globals, the local posterior of a shard, and its summary."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tagsight.types import Array, Floats, Ints


class Appearance(NamedTuple):
    """q(A_k) = N(mean_k, var_k Omega); Omega = I where the noise is isotropic."""

    mean: Floats  # (K, D) phi
    var: Floats  # (K,)   Phi


class Scales(NamedTuple):
    """Point estimates of the variances of noise and appearance; the covariances are these times Omega."""

    noise: float  # sigma^2
    appearance: float  # sigma_A^2


class Sparsity(NamedTuple):
    """Expectations under q(alpha_s) = Gamma that the other updates and the bound use."""

    mean: Floats  # (S,) E[alpha]
    log_mean: Floats  # (S,) E[log alpha]
    bound: float  # E[log p(alpha)] + H[q(alpha)]; 0 when alpha is fixed


ISOTROPIC: Floats = np.empty((0, 0))


class Globals(NamedTuple):
    """Everything shared by all photos."""

    appearance: Appearance
    scales: Scales
    sparsity: Sparsity
    affinity: Floats  # (K, K) the correlation matrix M, zero diagonal; its strength rho is `Settings.affinity`
    inverse_shape: Floats = ISOTROPIC  # (D, D) inverse of Omega; ISOTROPIC if Omega = I


class Local(NamedTuple):
    """The local posterior of one shard's photos, in the layout of `layout.Layout`."""

    assign: Array  # flat; photo i holds its (K_i, N_i) nu at assign_start[i]
    sticks: Floats  # (I, K, 2) tau, by column; 1 for factors without a stick in the photo
    order: Ints  # (I, K) columns in each photo's stick order


def join_locals(parts: Sequence[Local]) -> Local:
    """Return the posterior of all photos, from those of consecutive ranges of photos."""
    return parts[0] if len(parts) == 1 else Local._make(map(np.concatenate, zip(*parts, strict=True)))


class SummaryStatistics(NamedTuple):
    """The statistics of photos that the global step and the bound use. Summaries of disjoint photos add up."""

    n_regions: float
    square: float | Floats  # sum |x_j|^2, or sum x_j x_j^T (D, D) if the noise covariance is full
    count: Floats  # pyright: ignore[reportIncompatibleMethodOverride]  # (K,) n_k = sum_j nu_jk
    pair: Floats  # (K, K) C: sum_j nu_jk nu_jl off the diagonal, n_k on it
    photo_pair: Floats  # (K, K) sum_i n_ik n_il / N_i
    cross: Floats  # (K, D) Y: sum_j nu_jk x_j
    n_sticks: Floats  # (S,)
    log_sticks: Floats  # (S,)   sum of E[log v]
    stick_entropy: float
    log_prior: float  # bound of E[log p(z | v)]
    assign_entropy: float
    agreement: float  # sum over neighbours and factors of w P(z_jk = z_mk)


def merge(a: SummaryStatistics, b: SummaryStatistics) -> SummaryStatistics:
    """Return the summary of the photos of both."""
    return SummaryStatistics._make(x + y for x, y in zip(a, b, strict=True))


def remove(a: SummaryStatistics, b: SummaryStatistics) -> SummaryStatistics:
    """Return the summary of the photos of `a` without those of `b`."""
    return SummaryStatistics._make(x - y for x, y in zip(a, b, strict=True))


def accumulate(total: SummaryStatistics, part: SummaryStatistics) -> SummaryStatistics:
    """Return `merge(total, part)`, computed in the arrays of `total`."""
    return SummaryStatistics._make(_add_in_place(whole, piece) for whole, piece in zip(total, part, strict=True))


def _add_in_place(total: Any, part: Any) -> Any:
    """Return `total += part`, which changes an array and replaces a number."""
    total += part
    return total


def empty_summary(K: int, D: int, S: int) -> SummaryStatistics:
    """Return the summary of no photos."""
    zeros = np.zeros
    pairs = zeros((K, K)), zeros((K, K))
    return SummaryStatistics(0.0, 0.0, zeros(K), *pairs, zeros((K, D)), zeros(S), zeros(S), 0.0, 0.0, 0.0, 0.0)
