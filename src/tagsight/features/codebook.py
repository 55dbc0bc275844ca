"""What is learned from training vectors before any is described: a projection and a mixture of Gaussians.

Projection: principal components, exactly, from whichever of the two Gram matrices is the smaller. With X the
centred sample (n, D), the leading eigenvectors V of X'X are the basis; where n < D those are V = X'U / s, U
and s^2 the eigenvectors and eigenvalues of XX'.

Mixture: EM for K Gaussians with diagonal covariance, started from k-means++ centres,

    g_nk = w_k N(x_n; m_k, s_k^2) / sum_l w_l N(x_n; m_l, s_l^2),       n_k = sum_n g_nk,
    w_k = n_k / n,    m_k = sum_n g_nk x_n / n_k,    s_k^2 = sum_n g_nk x_n^2 / n_k - m_k^2.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import linalg

from tagsight.errors import InputError
from tagsight.runtime.interrupts import check_stop
from tagsight.types import Array

EM_ROUNDS = 30
VARIANCE_FLOOR = 0.01  # of the sample's variance in the same dimension
SPREAD_FLOOR = 0.05  # of the largest standard deviation of a dimension
CHUNK = 4096  # vectors whose memberships fit a core's cache

_TINY = np.finfo(np.float32).tiny


class Projection(NamedTuple):
    """x -> x basis - offset, both float32."""

    basis: Array  # (D, d), orthonormal columns; those the sample could not fill are zero
    offset: Array  # (d,) the sample's mean, projected


class Mixture(NamedTuple):
    """K Gaussians with diagonal covariance, all float32."""

    weights: Array  # (K,) w, adding to one
    means: Array  # (K, d) m
    variances: Array  # (K, d) s^2


def learn_projection(sample: Array, length: int) -> Projection:
    """The `length` principal components of the rows of `sample` (n, D), strongest first.

    The largest entry of each is positive, so that the same sample has one answer. `sample`, perhaps half of
    a gigabyte, is not copied: it is left centred.
    """
    count, width = sample.shape
    mean = sample.mean(axis=0, dtype=np.float64).astype(np.float32)
    sample -= mean
    gram = sample @ sample.T if count < width else sample.T @ sample
    kept = min(length, len(gram))
    values, vectors = linalg.eigh(gram, subset_by_index=(len(gram) - kept, len(gram) - 1), overwrite_a=True)
    # What float32 cannot tell from zero has no direction.
    values, vectors = values[::-1], vectors[:, ::-1]
    vectors = vectors[:, values > max(values[0], 0) * len(gram) * np.finfo(np.float32).eps]
    if count < width:
        vectors = sample.T @ vectors
        vectors /= np.linalg.norm(vectors, axis=0)
    basis = np.zeros((width, length), np.float32)
    basis[:, : vectors.shape[1]] = vectors * np.sign(_pick_largest(vectors))
    return Projection(basis, mean @ basis)


def learn_standard_projection(sample: Array, length: int) -> Projection:
    """The projection of standardised vectors: x -> (x / s - m) V / c, learned from a `sample` (n, D).

    s is the standard deviation of each dimension, or SPREAD_FLOOR times the largest if it is less; V the principal
    components; c makes the mean square length one. The map is affine, so the projection of an average is the average of
    the projections.
    """
    sample = sample.astype(np.float32)
    spread = sample.std(axis=0)
    spread = np.maximum(spread, max(SPREAD_FLOOR * float(spread.max()), _TINY))
    sample /= spread
    basis, offset = learn_projection(sample, min(length, sample.shape[1]))
    size = np.sqrt(np.mean(np.sum((sample @ basis) ** 2, axis=1))) or 1.0  # the sample is left centred
    return Projection(basis / spread[:, None] / size, offset / size)


def project(vectors: Array, projection: Projection) -> Array:
    """(n, d) float32 coordinates of `vectors` (n, D)."""
    return vectors @ projection.basis - projection.offset


def learn_mixture(sample: Array, n_components: int, *, seed: int, rounds: int = EM_ROUNDS) -> Mixture:
    """Fit `n_components` Gaussians to the rows of `sample` (n, d) float32."""
    from sklearn.cluster import kmeans_plusplus

    if len(sample) < n_components:
        raise InputError(f"{len(sample)} vectors for {n_components} Gaussians; give more or larger photos")
    spread = sample.var(axis=0, dtype=np.float64)
    floor = np.maximum(VARIANCE_FLOOR * spread, _TINY)
    centres, _ = kmeans_plusplus(sample, n_components, random_state=seed)
    mixture = Mixture(
        np.full(n_components, 1 / n_components, np.float32),
        centres,
        np.tile(np.maximum(spread, floor).astype(np.float32), (n_components, 1)),
    )
    for _ in range(rounds):
        check_stop()
        mixture = _improve(sample, mixture, floor)
    return mixture


def _improve(sample: Array, mixture: Mixture, floor: Array) -> Mixture:
    """One round of EM. A Gaussian that has lost all vectors keeps its place, with the least weight."""
    size, length = mixture.means.shape
    mass = np.zeros(size)
    sums = np.zeros((size, 2 * length))
    for powers, members in share_members(sample, mixture):
        mass += members.sum(axis=0, dtype=np.float64)
        sums += members.T @ powers
    alive = mass > _TINY
    first, second = np.split(sums / np.where(alive, mass, 1)[:, None], 2, axis=1)
    weights = np.maximum(mass, 1) / np.maximum(mass, 1).sum()
    means = np.where(alive[:, None], first, mixture.means)
    variances = np.where(alive[:, None], np.maximum(second - first**2, floor), mixture.variances)
    return Mixture(weights.astype(np.float32), means.astype(np.float32), variances.astype(np.float32))


def share_members(vectors: Array, mixture: Mixture) -> Iterator[tuple[Array, Array]]:
    """For each chunk of `vectors` (n, d) in turn, its powers [x, x^2] (c, 2d) and memberships g (c, K)."""
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


def _expand(mixture: Mixture) -> tuple[Array, Array]:
    """(2d, K) and (K,): log w_k N(x; m_k, s_k^2) as coefficients of [x, x^2] and a constant."""
    weights, means, variances = (part.astype(np.float64) for part in mixture)
    linear = np.hstack([means / variances, -0.5 / variances]).T
    constant = np.log(weights) - 0.5 * (np.log(variances) + means**2 / variances).sum(axis=1)
    return np.ascontiguousarray(linear, np.float32), constant.astype(np.float32)


def _pick_largest(vectors: Array) -> Array:
    """(d,) the entry of greatest size of each column."""
    return np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)[0]
