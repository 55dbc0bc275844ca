"""Improved Fisher vectors of all regions of a photo (Perronnin et al. 2010; Sanchez et al. 2013), and their mixture.

The mixture has K Gaussians with diagonal covariance. EM from k-means++ centres fits it to descriptors x_n:

    g_nk = w_k N(x_n; m_k, s_k^2) / sum_l w_l N(x_n; m_l, s_l^2),       n_k = sum_n g_nk,
    w_k = n_k / n,    m_k = sum_n g_nk x_n / n_k,    s_k^2 = sum_n g_nk x_n^2 / n_k - m_k^2.

For descriptors with weights a_rn in region r, which add to one, and

    S0_rk = sum_n a_rn g_nk,    S1_rk = sum_n a_rn g_nk x_n,    S2_rk = sum_n a_rn g_nk x_n^2,

the gradients of the mean log-likelihood by m_k and s_k, each in its own Fisher metric, are

    G_m = (S1 - m S0) / (s sqrt(w)),    G_s = (S2 - 2 m S1 + (m^2 - s^2) S0) / (s^2 sqrt(2 w)).

The vector is [G_m, G_s], K d numbers each; every number z becomes sign(z) sqrt|z|, and the vector is scaled to unit
length. A region's sums are one product of its responsibilities g with the powers [x, x^2].
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from tagsight.errors import InputError
from tagsight.runtime.interrupts import check_stop
from tagsight.types import Array

EM_ROUNDS = 30
VARIANCE_FLOOR = 0.01  # of the sample's variance in the same dimension
CHUNK = 4096  # vectors whose responsibilities fit a core's cache

_TINY = np.finfo(np.float32).tiny


class Mixture(NamedTuple):
    """K Gaussians with diagonal covariance, all float32."""

    weights: Array  # (K,) w, adding to one
    means: Array  # (K, d) m
    variances: Array  # (K, d) s^2


def learn_mixture(sample: Array, n_components: int, *, seed: int, rounds: int = EM_ROUNDS) -> Mixture:
    """Fit `n_components` Gaussians to the rows of `sample` (n, d) float32."""
    from sklearn.cluster import kmeans_plusplus

    if len(sample) < n_components:
        raise InputError(f"{len(sample)} vectors for {n_components} Gaussians; give more or larger photos")
    variance = sample.var(axis=0, dtype=np.float64)
    floor = np.maximum(VARIANCE_FLOOR * variance, _TINY)
    centres, _ = kmeans_plusplus(sample, n_components, random_state=seed)
    mixture = Mixture(
        np.full(n_components, 1 / n_components, np.float32),
        centres,
        np.tile(np.maximum(variance, floor).astype(np.float32), (n_components, 1)),
    )
    for _ in range(rounds):
        check_stop()
        mixture = _update_mixture(sample, mixture, floor)
    return mixture


def compute_responsibilities(vectors: Array, mixture: Mixture) -> Iterator[tuple[Array, Array]]:
    """For each chunk of `vectors` (n, d) in turn, its powers [x, x^2] (c, 2d) and responsibilities g (c, K)."""
    linear, constant = _expand(mixture)
    for start in range(0, len(vectors), CHUNK):
        chunk = vectors[start : start + CHUNK]
        powers = np.hstack([chunk, chunk * chunk])
        members = powers @ linear
        members += constant
        members -= members.max(axis=1, keepdims=True)
        np.exp(members, out=members)
        members /= members.sum(axis=1, keepdims=True)
        yield powers, members


def encode_regions(vectors: Array, weights: sparse.csr_array, mixture: Mixture) -> Array:
    """(R, 2 K d) float32 Fisher vectors of the regions, from `vectors` (n, d) float32 and `weights` (R, n)."""
    count, length = vectors.shape
    if weights.shape[1] != count or length != mixture.means.shape[1]:
        raise InputError(f"vectors {vectors.shape} do not fit weights {weights.shape} and means {mixture.means.shape}")
    masses, sums = _sum_regions(vectors, weights, mixture)
    return _normalise(_compute_gradients(masses, sums, mixture))


def _update_mixture(sample: Array, mixture: Mixture, floor: Array) -> Mixture:
    """One round of EM. A Gaussian without any vector keeps its mean, with the least weight."""
    size, length = mixture.means.shape
    mass = np.zeros(size)
    sums = np.zeros((size, 2 * length))
    for powers, members in compute_responsibilities(sample, mixture):
        mass += members.sum(axis=0, dtype=np.float64)
        sums += members.T @ powers
    alive = mass > _TINY
    first, second = np.split(sums / np.where(alive, mass, 1)[:, None], 2, axis=1)
    weights = np.maximum(mass, 1) / np.maximum(mass, 1).sum()
    means = np.where(alive[:, None], first, mixture.means)
    variances = np.where(alive[:, None], np.maximum(second - first**2, floor), mixture.variances)
    return Mixture(weights.astype(np.float32), means.astype(np.float32), variances.astype(np.float32))


def _expand(mixture: Mixture) -> tuple[Array, Array]:
    """(2d, K) and (K,): log w_k N(x; m_k, s_k^2) as coefficients of [x, x^2] and a constant."""
    weights, means, variances = (part.astype(np.float64) for part in mixture)
    linear = np.hstack([means / variances, -0.5 / variances]).T
    constant = np.log(weights) - 0.5 * (np.log(variances) + means**2 / variances).sum(axis=1)
    return np.ascontiguousarray(linear, np.float32), constant.astype(np.float32)


def _sum_regions(vectors: Array, weights: sparse.csr_array, mixture: Mixture) -> tuple[Array, Array]:
    """S0 (R, K) and [S1, S2] (R, K, 2 d)."""
    (count, length), size, n_regions = vectors.shape, len(mixture.weights), weights.shape[0]
    powers = np.empty((count, 2 * length), np.float32)
    members = np.empty((count, size), np.float32)
    start = 0
    for some_powers, some_members in compute_responsibilities(vectors, mixture):
        stop = start + len(some_powers)
        powers[start:stop], members[start:stop] = some_powers, some_members
        start = stop
    masses = np.empty((n_regions, size), np.float32)
    sums = np.empty((n_regions, size, 2 * length), np.float32)
    for region, (begin, end) in enumerate(zip(weights.indptr, weights.indptr[1:], strict=False)):
        inside = weights.indices[begin:end]
        weighted = members[inside] * weights.data[begin:end, None]
        masses[region] = weighted.sum(axis=0)
        np.matmul(weighted.T, powers[inside], out=sums[region])
    return masses, sums


def _compute_gradients(masses: Array, sums: Array, mixture: Mixture) -> Array:
    """(R, 2, K, d): G_m and G_s."""
    first, second = np.split(sums, 2, axis=2)
    weights, means, variances = mixture
    mass = masses[:, :, None]
    root = np.sqrt(weights)[:, None]
    gradients = np.empty((len(sums), 2, *means.shape), np.float32)
    gradients[:, 0] = (first - means * mass) / (np.sqrt(variances) * root)
    gradients[:, 1] = second - 2 * means * first + (means**2 - variances) * mass
    gradients[:, 1] /= variances * (np.float32(np.sqrt(2.0)) * root)
    return gradients


def _normalise(gradients: Array) -> Array:
    """(R, 2 K d): signed square roots, scaled to unit length per region; zero gradients stay zero."""
    roots = np.sqrt(np.abs(gradients)).reshape(len(gradients), -1)
    np.copysign(roots, gradients.reshape(roots.shape), out=roots)
    roots /= np.maximum(np.linalg.norm(roots, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return roots
