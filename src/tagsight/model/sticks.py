r"""The stick-breaking prior of one photo, under the multinomial bound of Doshi-Velez et al. (2009).

A photo's sequence of T factors has sticks v_t ~ Beta(alpha, 1) and weights pi_m = prod_{t<=m} v_t;
q(v_t) = Beta(tau_t1, tau_t2). Every function takes one sequence, its factors in stick order:

    count (T,)    n_m = sum_j nu_jm
    absent (T,)   L_m N_i - n_m: 0 for forbidden factors, which carry no evidence about the sticks
    tau (T, 2)

The paper prints psi(tau_1) - psi(tau_2) for E[log v]; the expectation is psi(tau_1) - psi(tau_1 + tau_2).
"""

import math

import numpy as np

from tagsight.model.numerics import digamma, log_add, log_beta
from tagsight.runtime.kernels import kernel
from tagsight.types import Floats

UPDATES = 3  # of tau after each sweep over nu; they are cheap, and outdated weights slow down convergence


@kernel()
def expect_logs(tau: Floats, log_on: Floats, log_off: Floats, log_break: Floats) -> float:
    """Fill E[log pi_m], the bound of E[log(1 - pi_m)] and e_m; return sum_t E[log v_t].

    e_y = psi(tau_y2) + sum_{t<y} psi(tau_t1) - sum_{t<=y} psi(tau_t1 + tau_t2)
    E[log pi_m] = sum_{t<=m} psi(tau_t1) - psi(tau_t1 + tau_t2)
    E[log(1 - pi_m)] >= logsumexp_{y<=m} e_y, at the optimal q_m(y) = exp(e_y - logsumexp)
    """
    so_far = 0.0
    off = -math.inf
    for t in range(len(tau)):
        both = digamma(tau[t, 0] + tau[t, 1])
        log_break[t] = so_far + digamma(tau[t, 1]) - both
        so_far += digamma(tau[t, 0]) - both
        off = log_add(off, log_break[t])
        log_on[t] = so_far
        log_off[t] = off
    return so_far


@kernel()
def update_tau(count: Floats, absent: Floats, alpha: float, log_off: Floats, log_break: Floats, tau: Floats) -> None:
    """Maximise the bound over q(v) with every q_m(y) at its optimum given the old logs.

    tau_t1 = alpha + sum_{m>=t} n_m + sum_{m>t} absent_m sum_{t<y<=m} q_m(y)
    tau_t2 = 1 + sum_{m>=t} absent_m q_m(t)

    With h_t = log sum_{m>=t} absent_m exp(-log_off_m) both sums need one backward pass:
    sum_{m>=t} absent_m q_m(t) = exp(e_t + h_t) and sum_{y<=t} q_m(y) = exp(log_off_t - log_off_m).
    """
    above = 0.0
    absent_above = 0.0
    h_t = -math.inf
    for t in range(len(count) - 1, -1, -1):
        broken_later = absent_above - math.exp(log_off[t] + h_t)
        above += count[t]
        tau[t, 0] = alpha + above + max(broken_later, 0.0)
        if absent[t] > 0.0:
            h_t = log_add(h_t, math.log(absent[t]) - log_off[t])
        tau[t, 1] = 1.0 + math.exp(log_break[t] + h_t)
        absent_above += absent[t]


@kernel()
def stick_entropy(tau: Floats) -> float:
    """Return the entropy of q(v), summed over the sticks."""
    total = 0.0
    for t in range(len(tau)):
        a, b = tau[t, 0], tau[t, 1]
        total += log_beta(a, b) - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (a + b - 2) * digamma(a + b)
    return total


@kernel()
def refine_tau(count: Floats, absent: Floats, alpha: float, tau: Floats) -> None:
    """Update tau UPDATES times in place."""
    T = len(count)
    log_on, log_off, log_break = np.empty(T), np.empty(T), np.empty(T)
    for _ in range(UPDATES):
        expect_logs(tau, log_on, log_off, log_break)
        update_tau(count, absent, alpha, log_off, log_break, tau)


@kernel()
def stick_bound(count: Floats, absent: Floats, alpha: float, tau: Floats) -> float:
    """Return the terms of the bound that depend on the sticks."""
    T = len(count)
    log_on, log_off, log_break = np.empty(T), np.empty(T), np.empty(T)
    log_v = expect_logs(tau, log_on, log_off, log_break)
    return (alpha - 1.0) * log_v + stick_entropy(tau) + np.sum(count * log_on) + np.sum(absent * log_off)
