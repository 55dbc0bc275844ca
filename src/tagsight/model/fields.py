r"""The two Markov fields, as log-potentials of a photo's nu, here (N_i, K_i).

Spatial, for every factor and every pair of neighbouring regions:  beta w_jm [z_jk = z_mk]
Within a region, for every pair of factors:                        rho M_kl z_jk z_jl
The same, centred on the photo:                        rho M_kl (z_jk - mean_m z_mk) (z_jl - mean_m z_ml)

Independent factors with rates pi are both on in a share pi_k pi_l of the regions. The normaliser of the within-region
field corrects for this; to first order in rho it is log Z_i = N_i rho sum_{k<l} M_kl pi_k pi_l. It depends on pi and is
dropped, as in the paper: positively correlated factors then increase each other's probability in
every region of a photo. The centred field has
that term, with the photo's mean for pi: its log-potential is rho N_i M_kl times the covariance of z_k and z_l in the
photo.

A message is the derivative of the expected log-potential with respect to nu_jk. The paper passes the
log-odds eta instead, which is unbounded and is not the mean-field message of its own potential.
"""

import numpy as np

from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.state import SummaryStatistics
from tagsight.runtime.kernels import kernel
from tagsight.types import Array, Floats, Ints


@kernel(fastmath={"reassoc", "contract"})
def spatial_message(nu: Array, neighbour: Ints, weight: Array, out: Array) -> None:
    """Fill `out` (K_i,) with sum_{m ~ j} w_jm (2 nu_mk - 1) for the region whose neighbours these are."""
    out[:] = 0
    for e in range(len(neighbour)):
        w = weight[e]
        row = nu[neighbour[e]]
        for k in range(len(out)):
            out[k] += w * (2 * row[k] - 1)


@kernel(fastmath={"reassoc", "contract"})
def spatial_agreement(nu: Array, start: Ints, neighbour: Ints, weight: Array) -> float:
    """sum_{j~m} w_jm sum_k P(z_jk = z_mk), each pair once; `start` (N_i + 1,) indexes `neighbour`."""
    total = 0.0
    for j in range(len(nu)):
        for e in range(start[j], start[j + 1]):
            if neighbour[e] > j:
                a, b = nu[j], nu[neighbour[e]]
                same = weight[e] * 0
                for k in range(len(a)):
                    same += a[k] * b[k] + (1 - a[k]) * (1 - b[k])
                total += weight[e] * same
    return total


def affinity_energy(M: Floats, summary: SummaryStatistics, centred: bool) -> float:
    """Return sum_j sum_{k<l} M_kl nu_jk nu_jl, with nu - mean_m nu_m instead of nu if the field is centred."""
    pair = summary.pair - summary.photo_pair if centred else summary.pair
    return 0.5 * float(np.sum(M * pair))


def correlate(count: Floats, pair: Floats, n_samples: float) -> Floats:
    """Return the correlation of z_k and z_l, clipped to [-1, 1], with a zero diagonal.

    (C_kl / N - p_k p_l) / sqrt(p_k (1 - p_k) p_l (1 - p_l)),  p = n / N.
    The paper adds eta^T eta in every iteration, which is unbounded and makes the scale of rho meaningless.
    """
    p = count / n_samples
    std = np.sqrt(np.clip(p * (1.0 - p), 0.0, None))
    covariance = pair / n_samples - np.outer(p, p)
    product = np.outer(std, std)
    M = np.divide(covariance, product, out=np.zeros_like(pair), where=product > 1e-12)
    np.fill_diagonal(M, 0.0)
    return np.clip(M, -1.0, 1.0)


def correlate_tagged(summary: SummaryStatistics, settings: Settings) -> Floats:
    """Return M: the correlation over regions of the tagged factors; 0 for free factors and between exclusive ones.

    With free factors in M, splitting a factor into copies that are always on together would increase the bound, because
    the normaliser that penalises this is dropped.
    """
    factors = settings.factors
    M = correlate(summary.count, summary.pair, summary.n_regions)
    M[factors.tagged :] = 0.0
    M[:, factors.tagged :] = 0.0
    return _clear_exclusive(M, settings)


def _clear_exclusive(M: Floats, settings: Settings) -> Floats:
    """Set M to 0 between exclusive factors, as a centred field requires, and return it."""
    exclusive = plan_sticks(settings).exclusive
    M[np.ix_(exclusive, exclusive)] = 0.0
    return M


def start_affinity(tags: Array, settings: Settings) -> Floats:
    """Return M before the first sweep: the correlation of the tags, or 0 if a centred field learns M.

    Tags of the same photo need not share a region. A centred field with the correlation of the tags would assign
    accidentally correlated factors to the same regions in the first sweep, and later sweeps would not separate them.
    """
    M = correlate_tags(tags, settings.factors.free)
    return np.zeros_like(M) if settings.centred and settings.learn_affinity else _clear_exclusive(M, settings)


def correlate_tags(tags: Array, n_free: int) -> Floats:
    """Return the correlation of the photos' tags (I, K_o + K_a) as M (K, K); 0 for free factors."""
    counts = tags.astype(np.float64)
    K = tags.shape[1] + n_free
    M = np.zeros((K, K))
    M[: tags.shape[1], : tags.shape[1]] = correlate(counts.sum(axis=0), counts.T @ counts, len(tags))
    return M
