"""Improved Fisher vectors of all regions of a photo at once (Perronnin et al. 2010; Sanchez et al. 2013).

For descriptors x_n with weights a_rn in region r, adding to one, memberships g_nk in a mixture (w, m, s^2),
and

    S0_rk = sum_n a_rn g_nk,    S1_rk = sum_n a_rn g_nk x_n,    S2_rk = sum_n a_rn g_nk x_n^2,

the gradients of the mean log-likelihood by m_k and s_k, each in its own Fisher metric, are

    G_m = (S1 - m S0) / (s sqrt(w)),    G_s = (S2 - 2 m S1 + (m^2 - s^2) S0) / (s^2 sqrt(2 w)).

They stand side by side as [G_m, G_s], K d numbers each; every number z becomes sign(z) sqrt|z|, and the
vector is scaled to unit length. A region's sums are one product of its memberships with the powers [x, x^2].
"""

import numpy as np
from scipy import sparse

from tagsight.errors import InputError
from tagsight.features.codebook import Mixture, share_members
from tagsight.types import Array


def encode_regions(vectors: Array, weights: sparse.csr_array, mixture: Mixture) -> Array:
    """(R, 2 K d) float32: a Fisher vector a region, from `vectors` (n, d) float32 and `weights` (R, n)."""
    count, length = vectors.shape
    if weights.shape[1] != count or length != mixture.means.shape[1]:
        raise InputError(f"vectors {vectors.shape} do not fit weights {weights.shape} and means {mixture.means.shape}")
    masses, sums = _sum_regions(vectors, weights, mixture)
    return _normalise(_differentiate(masses, sums, mixture))


def _sum_regions(vectors: Array, weights: sparse.csr_array, mixture: Mixture) -> tuple[Array, Array]:
    """S0 (R, K) and [S1, S2] (R, K, 2 d)."""
    (count, length), size, n_regions = vectors.shape, len(mixture.weights), weights.shape[0]
    powers = np.empty((count, 2 * length), np.float32)
    members = np.empty((count, size), np.float32)
    start = 0
    for some_powers, some_members in share_members(vectors, mixture):
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


def _differentiate(masses: Array, sums: Array, mixture: Mixture) -> Array:
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
    """(R, 2 K d): signed roots, each region's of unit length; a region at a stationary point stays zero."""
    roots = np.sqrt(np.abs(gradients)).reshape(len(gradients), -1)
    np.copysign(roots, gradients.reshape(roots.shape), out=roots)
    roots /= np.maximum(np.linalg.norm(roots, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return roots
