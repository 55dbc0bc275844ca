"""The equations of the model, computed slowly with dense arrays and explicit loops; no code is shared with src.

docs/explanation/model.md has the equations; the fields of `Posterior` have the symbols of the paper.
"""

from dataclasses import dataclass
from itertools import pairwise, product
from math import factorial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import digamma, expit, logsumexp
from scipy.stats import beta as beta_law
from scipy.stats import gamma as gamma_law
from scipy.stats import invwishart

Array = NDArray[np.float64]
ALPHA_SHAPE, ALPHA_RATE = 1.0, 1.0


@dataclass
class Posterior:
    """Photos, and a point of the variational family."""

    X: Array  # (N, D)
    photo: NDArray[np.int64]  # (N,)
    L: NDArray[np.bool_]  # (I, K)
    edges: list[tuple[int, int, float]]  # region, region, weight
    beta: float
    rho: float
    centred: bool  # the within-region field is of deviations from the photo's mean
    sequences: list[list[list[int]]]  # [photo][sequence] -> columns in stick order
    ranked: bool  # the order itself is unknown, and every order of a sequence as probable as any other
    nu: Array  # (N, K)
    tau: Array  # (I, K, 2)
    phi: Array  # (K, D)
    Phi: Array  # (K,)
    noise: float
    scale: float
    alpha: Array  # (S, 2) shape and rate of q(alpha_s)
    M: Array  # (K, K)
    Omega: Array  # (D, D): noise, appearance and q(A_k) have covariances noise Omega, scale Omega, Phi_k Omega
    exclusive: NDArray[np.bool_]  # (K,) at most one of these is on in a region
    shrinkage: Array | None  # (K,) r of the appearances' variances noise / r; None: they are `scale`
    full: bool = False  # whether Omega is unknown, with a prior on noise Omega


NOISE_STRENGTH = 50.0  # regions per dimension that the prior of the noise covariance counts as


def inner(p: Posterior, a: Array, b: Array) -> float:
    """a Omega^-1 b."""
    return float(a @ np.linalg.solve(p.Omega, b))


def log_noise_prior(p: Posterior) -> float:
    """The log-density of the noise covariance under the inverse Wishart prior, at the scale that maximises it."""
    D = len(p.Omega)

    def density(log_scale: float) -> float:
        scale = NOISE_STRENGTH * D * np.exp(log_scale) * np.eye(D)
        return float(invwishart.logpdf(p.noise * p.Omega, NOISE_STRENGTH * D, scale))

    found = minimize_scalar(lambda log_scale: -density(log_scale), bracket=(-5.0, 5.0))
    return density(float(found.x))


def appearance_scales(p: Posterior) -> Array:
    """(K,) variance of each appearance under the prior."""
    return np.full(len(p.phi), p.scale) if p.shrinkage is None else p.noise / p.shrinkage


def expect_pairs(p: Posterior, j: int) -> Array:
    """(K, K) E[z_jk z_jl]."""
    K = len(p.phi)
    value = np.zeros((K, K))
    for k in range(K):
        for m in range(K):
            if k == m:
                value[k, m] = p.nu[j, k]
            elif not (p.exclusive[k] and p.exclusive[m]):
                value[k, m] = p.nu[j, k] * p.nu[j, m]
    return value


def chance_of(p: Posterior, j: int, z: Array) -> float:
    """q(z_j), the exclusive factors together, every other factor by itself."""
    chance = 1.0
    for k in range(len(z)):
        if not p.exclusive[k]:
            chance *= p.nu[j, k] if z[k] else 1 - p.nu[j, k]
    on = [k for k in range(len(z)) if p.exclusive[k] and z[k]]
    if len(on) > 1:
        return 0.0
    if len(on) == 1:
        return chance * p.nu[j, on[0]]
    return chance * (1 - sum(p.nu[j, k] for k in range(len(z)) if p.exclusive[k]))


def expect_log_v(tau: Array) -> Array:
    return digamma(tau[..., 0]) - digamma(tau[..., 0] + tau[..., 1])


def log_breaks(tau: Array) -> Array:
    """E[log((1 - v_y) prod_{t<y} v_t)] for each y."""
    T = len(tau)
    value = np.zeros(T)
    for y in range(T):
        value[y] = digamma(tau[y, 1]) - digamma(tau[y, 0] + tau[y, 1])
        for t in range(y):
            value[y] += digamma(tau[t, 0]) - digamma(tau[t, 0] + tau[t, 1])
    return value


def multinomial_bound(tau: Array, m: int, q: Array) -> float:
    """Lower bound of E[log(1 - prod_{t<=m} v_t)] for any distribution q over y <= m."""
    value = 0.0
    for y in range(m + 1):
        if q[y] > 0:
            value += q[y] * (log_breaks(tau)[y] - np.log(q[y]))
    return value


def best_q(tau: Array) -> Array:
    """(T, T): row m is the q over y <= m that makes the multinomial bound tightest."""
    T = len(tau)
    e = log_breaks(tau)
    q = np.zeros((T, T))
    for m in range(T):
        weight = np.exp(e[: m + 1] - e[: m + 1].max())
        q[m, : m + 1] = weight / weight.sum()
    return q


def update_tau(count: Array, absent: Array, alpha: float, tau: Array) -> Array:
    T = len(count)
    q = best_q(tau)
    new = np.zeros((T, 2))
    for k in range(T):
        new[k, 0] = alpha + sum(count[m] for m in range(k, T))
        new[k, 0] += sum(absent[m] * sum(q[m, s] for s in range(k + 1, m + 1)) for m in range(k + 1, T))
        new[k, 1] = 1 + sum(absent[m] * q[m, k] for m in range(k, T))
    return new


def log_weights(p: Posterior, i: int) -> tuple[Array, Array]:
    """E[log pi_k] and the bound of E[log(1 - pi_k)] in photo i, (K,) each; NaN without a stick."""
    on, off = np.full(p.L.shape[1], np.nan), np.full(p.L.shape[1], np.nan)
    for columns in p.sequences[i]:
        tau = p.tau[i, columns]
        q = best_q(tau) if columns else np.zeros((0, 0))
        for m, k in enumerate(columns):
            on[k] = expect_log_v(tau[: m + 1]).sum()
            off[k] = multinomial_bound(tau, m, q[m])
    return on, off


def assign_logit(p: Posterior, j: int, k: int) -> float:
    """The logit that mean field gives nu_jk, all else fixed; of an exclusive factor, against none of them on."""
    K, D = p.phi.shape
    on, off = log_weights(p, int(p.photo[j]))
    rest = p.X[j].copy()
    for m in range(K):
        if m != k and not (p.exclusive[m] and p.exclusive[k]):
            rest -= p.nu[j, m] * p.phi[m]
    logit = on[k] - off[k]
    logit -= (D * p.Phi[k] + inner(p, p.phi[k], p.phi[k]) - 2 * inner(p, p.phi[k], rest)) / (2 * p.noise)
    for a, b, w in p.edges:
        if j in (a, b):
            logit += p.beta * w * (2 * p.nu[b if a == j else a, k] - 1)
    for m in range(K):
        if m != k:
            logit += p.rho * p.M[k, m] * deviations(p, p.nu)[j, m]
    return float(logit)


def deviations(p: Posterior, z: Array) -> Array:
    """z (N, K), minus the mean over the regions of its photo if the field is centred."""
    if not p.centred:
        return z
    return np.array(
        [z[j] - np.mean([z[m] for m in range(len(z)) if p.photo[m] == p.photo[j]], axis=0) for j in range(len(z))]
    )


def sweep(p: Posterior, updates: list[tuple[int, int]]) -> Array:
    """nu after updating the given (region, factor) one after another.

    The exclusive factors of a region share one softmax, in which none of them has the log-weight 0.
    """
    before, p.nu = p.nu, p.nu.copy()
    for j, k in updates:
        if p.exclusive[k]:
            others = [m for m in range(len(p.phi)) if p.exclusive[m] and p.L[p.photo[j], m]]
            p.nu[j, k] = np.exp(assign_logit(p, j, k) - logsumexp([0.0, *(assign_logit(p, j, m) for m in others)]))
        else:
            p.nu[j, k] = expit(assign_logit(p, j, k))
    after, p.nu = p.nu, before
    return after


def bound(p: Posterior) -> dict[str, float]:
    """Every term of the bound, written out."""
    assignments, entropy = assignment_terms(p)
    sticks, orders = stick_terms(p)
    spatial, affinity = field_terms(p)
    (N, D), log_Omega = p.X.shape, float(np.log(np.linalg.det(p.Omega)))
    return {
        "likelihood": -N / 2 * (D * np.log(2 * np.pi * p.noise) + log_Omega) - residual(p) / (2 * p.noise),
        "noise": log_noise_prior(p) if p.full else 0.0,
        "appearance": appearance_term(p),
        "assignments": assignments - orders,
        "assign_entropy": entropy,
        "sticks": sticks,
        "sparsity": sparsity_term(p),
        "spatial": spatial,
        "affinity": affinity,
    }


def residual(p: Posterior) -> float:
    """E sum_j (x_j - sum_k z_jk A_k) Omega^-1 (x_j - sum_k z_jk A_k), from the means and covariances of z."""
    (N, D), K = p.X.shape, len(p.phi)
    total = 0.0
    for j in range(N):
        guess, pairs = p.nu[j] @ p.phi, expect_pairs(p, j)
        total += inner(p, p.X[j] - guess, p.X[j] - guess)
        for k in range(K):
            total += p.nu[j, k] * D * p.Phi[k]
            for m in range(K):
                covariance = pairs[k, m] - p.nu[j, k] * p.nu[j, m]
                if covariance:
                    total += covariance * inner(p, p.phi[k], p.phi[m])
    return total


def appearance_term(p: Posterior) -> float:
    """E[log p(A)] + H[q(A)]."""
    D, log_Omega = p.X.shape[1], float(np.log(np.linalg.det(p.Omega)))
    total = 0.0
    for k in range(len(p.phi)):
        scale = appearance_scales(p)[k]
        total -= (D * np.log(2 * np.pi * scale) + log_Omega) / 2
        total -= (inner(p, p.phi[k], p.phi[k]) + D * p.Phi[k]) / (2 * scale)
        total += (D * np.log(2 * np.pi * np.e * p.Phi[k]) + log_Omega) / 2
    return float(total)


def assignment_terms(p: Posterior) -> tuple[float, float]:
    """E[log p(Z | v)] under the multinomial bound, and H[q(Z)]."""
    assignments = entropy = 0.0
    logs = [log_weights(p, i) for i in range(len(p.L))]
    for j in range(len(p.X)):
        on, off = logs[p.photo[j]]
        for k in np.flatnonzero(p.L[p.photo[j]]):
            nu = p.nu[j, k]
            assignments += nu * on[k] + (1 - nu) * off[k]
            if 0 < nu < 1:
                entropy -= nu * np.log(nu)
                entropy -= 0.0 if p.exclusive[k] else (1 - nu) * np.log(1 - nu)
        none = 1 - p.nu[j, p.exclusive].sum()
        if p.exclusive.any() and none > 0:
            entropy -= none * np.log(none)
    return float(assignments), float(entropy)


def stick_terms(p: Posterior) -> tuple[float, float]:
    """E[log p(v | alpha)] + H[q(v)], and the log of the number of orders that the sequences could have."""
    sticks = orders = 0.0
    for tau, sequences in zip(p.tau, p.sequences, strict=True):
        for (shape, rate), columns in zip(p.alpha, sequences, strict=True):
            if p.ranked:
                orders += np.log(float(factorial(len(columns))))
            for k in columns:
                a, b = tau[k]
                sticks += digamma(shape) - np.log(rate) + (shape / rate - 1) * expect_log_v(np.array([a, b]))
                sticks += float(beta_law.entropy(a, b))
    return float(sticks), float(orders)


def sparsity_term(p: Posterior) -> float:
    """E[log p(alpha)] + H[q(alpha)]."""
    total = 0.0
    for shape, rate in p.alpha:
        total += ALPHA_SHAPE * np.log(ALPHA_RATE) + (ALPHA_SHAPE - 1) * (digamma(shape) - np.log(rate))
        total += -ALPHA_RATE * shape / rate + float(gamma_law.entropy(shape, scale=1 / rate))
    return float(total)


def field_terms(p: Posterior) -> tuple[float, float]:
    """The expected log-potentials of the spatial field and of the field within regions."""
    spatial = affinity = 0.0
    for a, b, w in p.edges:
        for k in np.flatnonzero(p.L[p.photo[a]]):
            spatial += p.beta * w * (p.nu[a, k] * p.nu[b, k] + (1 - p.nu[a, k]) * (1 - p.nu[b, k]))
    dev = deviations(p, p.nu)
    for j in range(len(p.X)):
        for k in range(len(p.phi)):
            for m in range(k):
                affinity += p.rho * p.M[k, m] * dev[j, k] * dev[j, m]
    return float(spatial), float(affinity)


@dataclass
class States:
    """Every state of z that the tags and the exclusive factors allow; the log of the unnormalised joint at each."""

    z: Array  # (states, N, K)
    log_joint: Array  # (states,)

    @property
    def log_sum(self) -> float:
        return float(logsumexp(self.log_joint))

    @property
    def marginals(self) -> Array:
        return np.tensordot(np.exp(self.log_joint - self.log_sum), self.z, axes=1)


def enumerate_states(p: Posterior) -> States:
    """log p(X | z, A = phi) + log p(z | pi) + fields for every z, with the sticks' expected logs of pi."""
    N, K = len(p.X), len(p.phi)
    places = [(j, k) for j in range(N) for k in range(K) if p.L[p.photo[j], k]]
    logs = [log_weights(p, i) for i in range(len(p.L))]
    states, values = [], []
    for bits in product((0.0, 1.0), repeat=len(places)):
        z = np.zeros((N, K))
        value = -N / 2 * np.linalg.slogdet(2 * np.pi * p.noise * p.Omega)[1]
        for (j, k), bit in zip(places, bits, strict=True):
            z[j, k] = bit
        if np.any(z[:, p.exclusive].sum(axis=1) > 1):
            continue
        for (j, k), bit in zip(places, bits, strict=True):
            on, off = logs[p.photo[j]]
            value += on[k] if bit else off[k]
        for j in range(N):
            value -= inner(p, p.X[j] - z[j] @ p.phi, p.X[j] - z[j] @ p.phi) / (2 * p.noise)
            dev = deviations(p, z)[j]
            value += p.rho * sum(p.M[k, m] * dev[k] * dev[m] for k in range(K) for m in range(k))
        for a, b, w in p.edges:
            value += p.beta * w * np.sum((z[a] == z[b]) & p.L[p.photo[a]])
        states.append(z)
        values.append(value)
    return States(np.array(states), np.array(values))


def conditional(states: States, z: Array, j: int, k: int) -> float:
    """P(z_jk = 1 | every other entry of z), from the enumerated joint."""
    same = states.z == z
    same[:, j, k] = True
    match = same.all(axis=(1, 2))
    on = logsumexp(states.log_joint[match & (states.z[:, j, k] == 1)])
    return float(np.exp(on - logsumexp(states.log_joint[match])))


def expect_square(p: Posterior) -> float:
    """E sum_j |x_j - sum_k z_jk A_k|^2, norms by Omega^-1, by enumeration of each region's z."""
    (N, D), K = p.X.shape, len(p.phi)
    total = 0.0
    for j in range(N):
        for bits in product((0, 1), repeat=K):
            z = np.array(bits, float)
            total += chance_of(p, j, z) * (inner(p, p.X[j] - z @ p.phi, p.X[j] - z @ p.phi) + D * z @ p.Phi)
    return float(total)


def is_rising(values: list[float], slack: float = 1e-9) -> bool:
    """Whether no value is below its predecessor by more than rounding."""
    return all(after >= before - slack * abs(before) for before, after in pairwise(values))
