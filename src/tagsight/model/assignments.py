"""Coordinate ascent over nu for one photo.

nu is (K_i, N_i): the regions of one colour class lie side by side and have no edge between them, so updating them
together is still coordinate ascent. A sweep does not use the features: the likelihood of a region is quadratic in its
nu. A factor that changes in no region leaves B nu as it is, so near convergence a sweep mostly computes logits.

If objects and free factors are exclusive, at most one of them is on in a region. They are the first E rows of nu and
are updated together.
"""

import math
from typing import NamedTuple

import numpy as np

from tagsight.model.fields import spatial_message
from tagsight.model.numerics import log_add
from tagsight.runtime.kernels import kernel
from tagsight.types import Array, Ints

CERTAIN = 40.0  # |logit| beyond which nu is 0 or 1 to double precision
MIN_CHANGE = 4.0  # units of rounding; smaller changes of nu are not applied
SMALLEST_REST = 1e-300  # sum of the other weights relative to the largest, below which its logarithm loses digits
ENTROPY_FLUSH = 64  # 1 + exp(-|eta|) <= 2, so a float32 product of 64 of them cannot overflow


class Neighbours(NamedTuple):
    """The region graph of one photo."""

    class_start: Ints  # (classes + 1,) first region of each colour class
    start: Ints  # (N_i + 1,) first entry of each region
    region: Ints
    weight: Array


class CentredField(NamedTuple):
    """The terms of a centred field in the log-odds of one photo; they are equal in all of its regions."""

    offset: Array  # (K_i,) rho sum_l M_kl n_l / N_i, updated with nu; 0 unless the field is centred
    pair_coupling: Array  # (K_i, K_i) rho M / N_i; (0, 0) unless the field is centred


class Swept(NamedTuple):
    """Result of a sweep over a photo's factors."""

    entropy: float  # of q(z)
    change: float  # largest change of any nu


@kernel(fastmath={"reassoc", "contract", "arcp", "nsz"})
def sweep_assignments(
    nu: Array,
    unary: Array,
    interaction: Array,
    B: Array,
    centred_field: CentredField,
    graph: Neighbours,
    coupling: float,
    n_exclusive: int,
    last: bool,
) -> Swept:
    """Update every nu once, in place, and replace `unary` by the log-odds of the new nu.

        logit nu_jk = unary_kj + sum_{l != k} B_kl nu_jl + beta sum_{m ~ j} w_jm (2 nu_mk - 1)
        unary_kj = E[log pi_k] - E[log(1 - pi_k)] + (P_kj - (D Phi_k + |phi_k|^2) / 2) / sigma^2
        B = rho M - phi phi^T / sigma^2, zero on the diagonal;  P = phi X^T

    minus the offset rho sum_l M_kl n_l / N_i of a centred field. The first `n_exclusive` factors exclude each other; B
    is 0 between them (`_update_exclusive`). `interaction` is B nu and stays so, unless this is the `last` sweep.
    """
    K, N = nu.shape
    by_region = np.ascontiguousarray(nu.T)
    message = np.zeros((N, K), nu.dtype)
    delta, partition = np.empty(N, nu.dtype), np.ones(N, nu.dtype)
    target = np.empty((n_exclusive, N), nu.dtype)
    beta = nu.dtype.type(1) * coupling
    entropy, change = 0.0, 0.0
    for c in range(len(graph.class_start) - 1):
        a, b = graph.class_start[c], graph.class_start[c + 1]
        if coupling != 0.0:
            for j in range(a, b):
                e0, e1 = graph.start[j], graph.start[j + 1]
                spatial_message(by_region, graph.region[e0:e1], graph.weight[e0:e1], message[j])
        if n_exclusive > 0:
            swept = _update_exclusive(
                a, b, nu, by_region, unary, interaction, B, centred_field, beta, message, delta, target
            )
            entropy += swept.entropy
            change = max(change, swept.change)
        swept = _update_independent(
            a,
            b,
            nu,
            by_region,
            unary,
            interaction,
            B,
            centred_field,
            beta,
            message,
            delta,
            partition,
            n_exclusive,
            last,
            entropy,
        )
        entropy, change = swept.entropy, max(change, swept.change)
    return Swept(entropy, change)


@kernel(inline=True)
def _update_exclusive(
    a: int,
    b: int,
    nu: Array,
    by_region: Array,
    unary: Array,
    interaction: Array,
    B: Array,
    centred_field: CentredField,
    beta: float,
    message: Array,
    delta: Array,
    target: Array,
) -> Swept:
    """Update the E exclusive factors together in regions a..b-1: nu_jk = exp(eta_kj) / (1 + sum_{l < E} exp(eta_lj)).

    eta_kj is the right-hand side of `sweep_assignments`.
    """
    n_exclusive = len(target)
    one, min_change = nu.dtype.type(1), nu.dtype.type(MIN_CHANGE * np.finfo(nu.dtype).eps)
    change = 0.0
    for k in range(n_exclusive):
        base = centred_field.offset[k]
        for j in range(a, b):
            unary[k, j] += interaction[k, j] - base + beta * message[j, k]
    entropy = _apply_softmax(unary, a, b, n_exclusive, target)
    for k in range(n_exclusive):
        largest = one * 0
        for j in range(a, b):
            delta[j] = target[k, j] - nu[k, j]
            largest = max(largest, abs(delta[j]))
        if largest > min_change:
            change = max(change, largest)
            for j in range(a, b):
                nu[k, j] += delta[j]
                by_region[j, k] = nu[k, j]
            _add_interaction(B[k], delta, a, b, n_exclusive, interaction)
            if len(centred_field.pair_coupling):
                _update_offset(centred_field, k, delta, a, b)
    return Swept(entropy, change)


@kernel(inline=True)
def _update_independent(
    a: int,
    b: int,
    nu: Array,
    by_region: Array,
    unary: Array,
    interaction: Array,
    B: Array,
    centred_field: CentredField,
    beta: float,
    message: Array,
    delta: Array,
    partition: Array,
    n_exclusive: int,
    last: bool,
    entropy: float,
) -> Swept:
    """Update the factors n_exclusive..K_i-1 one after another in regions a..b-1: nu_jk = 1 / (1 + exp(-eta_kj)).

    The entropy of Bern(nu) with eta = logit nu, log(1 + e) + |eta| e / (1 + e) with e = exp(-|eta|), is added to
    `entropy`.
    """
    K = len(nu)
    one, min_change = nu.dtype.type(1), nu.dtype.type(MIN_CHANGE * np.finfo(nu.dtype).eps)
    change = 0.0
    for k in range(n_exclusive, K):
        largest = one * 0
        base = centred_field.offset[k]
        for j in range(a, b):
            eta = unary[k, j] - base + interaction[k, j] + beta * message[j, k]
            unary[k, j] = eta
            size = abs(eta)
            smaller = one * 0  # of nu_jk and 1 - nu_jk
            if size < CERTAIN:
                e = math.exp(-size)
                smaller = e / (one + e)
                partition[j] *= one + e
                entropy += size * smaller
            value = one - smaller if eta > 0 else smaller
            delta[j] = value - nu[k, j]
            largest = max(largest, abs(delta[j]))
        if largest > min_change:
            change = max(change, largest)
            for j in range(a, b):
                nu[k, j] += delta[j]
                by_region[j, k] = nu[k, j]
            _add_interaction(B[k], delta, a, b, k + 1 if last else 0, interaction)
            if len(centred_field.pair_coupling):
                _update_offset(centred_field, k, delta, a, b)
        if (k + 1) % ENTROPY_FLUSH == 0 or k == K - 1:
            for j in range(a, b):
                entropy += math.log(partition[j])
                partition[j] = one
    return Swept(entropy, change)


@kernel()
def _apply_softmax(eta: Array, a: int, b: int, E: int, target: Array) -> float:
    """Fill `target` (E, N) with the nu of exclusive factors for regions a..b-1; return the entropy of their q(z).

    `eta` holds log-odds relative to no factor on, and is replaced by the logits of nu:
    logit nu_k = eta_k - log(1 + sum_{l != k} exp(eta_l)). The entropy is log(1 + sum_l exp(eta_l)) - sum_k nu_k eta_k.
    Both are computed relative to the largest log-odds. If the sum of the others is too small for that, it is computed
    separately.
    """
    entropy = 0.0
    for j in range(a, b):
        highest, largest, rest = 0.0, -1, 0.0  # of all factors and of none, whose log-odds are 0
        for k in range(E):
            if eta[k, j] > highest:
                rest = (rest + 1.0) * math.exp(highest - eta[k, j])
                highest, largest = eta[k, j], k
            else:
                rest += math.exp(eta[k, j] - highest)
        log_rest = highest + math.log(rest) if rest > SMALLEST_REST else _sum_others(eta, j, E, largest)
        entropy += math.log1p(rest) + highest * math.exp(-highest) / (1.0 + rest)
        for k in range(E):
            relative = eta[k, j] - highest
            weight = math.exp(relative)
            target[k, j] = weight / (1.0 + rest)
            entropy -= weight / (1.0 + rest) * relative
            if k == largest:
                eta[k, j] -= log_rest
            else:
                eta[k, j] = relative - math.log(1.0 + rest - weight)
    return entropy


@kernel()
def _sum_others(eta: Array, j: int, E: int, largest: int) -> float:
    """Return log(1 + sum_{l != largest} exp(eta_lj))."""
    total = 0.0
    for k in range(E):
        if k != largest:
            total = log_add(total, eta[k, j])
    return total


@kernel(fastmath={"reassoc", "contract"})
def _add_interaction(B_k: Array, delta: Array, a: int, b: int, first: int, interaction: Array) -> None:
    """interaction_lj += B_kl delta_j for l >= first; four l at a time, so that delta is loaded once for four."""
    K = len(B_k)
    done = first + (K - first) // 4 * 4
    for m in range(first, done, 4):
        p0, p1, p2, p3 = B_k[m], B_k[m + 1], B_k[m + 2], B_k[m + 3]
        for j in range(a, b):
            interaction[m, j] += p0 * delta[j]
            interaction[m + 1, j] += p1 * delta[j]
            interaction[m + 2, j] += p2 * delta[j]
            interaction[m + 3, j] += p3 * delta[j]
    for m in range(done, K):
        for j in range(a, b):
            interaction[m, j] += B_k[m] * delta[j]


@kernel(fastmath={"reassoc", "contract"})
def _update_offset(centred_field: CentredField, k: int, delta: Array, a: int, b: int) -> None:
    """offset_l += (rho M_kl / N_i) sum_j delta_j."""
    gained = delta[a] * 0
    for j in range(a, b):
        gained += delta[j]
    for m in range(len(centred_field.offset)):
        centred_field.offset[m] += centred_field.pair_coupling[k, m] * gained


@kernel()
def assign_entropy(nu: Array, n_exclusive: int) -> float:
    """Return the entropy of q(z) for any nu (K_i, N_i); the first rows exclude each other, and 0 log 0 = 0."""
    total = 0.0
    for value in nu[n_exclusive:].flat:
        if 0.0 < value < 1.0:
            total -= value * math.log(value) + (1.0 - value) * math.log(1.0 - value)
    if n_exclusive > 0:
        for j in range(nu.shape[1]):
            none = 1.0
            for k in range(n_exclusive):
                none -= nu[k, j]
                if nu[k, j] > 0.0:
                    total -= nu[k, j] * math.log(nu[k, j])
            if none > 0.0:
                total -= none * math.log(none)
    return total
