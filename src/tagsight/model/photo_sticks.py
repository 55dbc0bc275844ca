"""The stick sequences of one photo: their factors, their order, and the prior of nu that follows from them.

The weights of the IBP in stick-breaking form decrease along the sequence, and every order of the factors is equally
probable a priori. The paper fixes the order of the columns, so that a tag late in the vocabulary can never have a
larger weight than an earlier one. With `ranked` sticks each photo has its own order: every update proposes the order by
count and accepts it if it increases the bound.

`local_index` (K,) and `expected_count` (K_i,) are those of `photo_step`.
"""

import math
from typing import NamedTuple

import numpy as np

from tagsight.model.settings import StickPlan
from tagsight.model.sticks import expect_logs, refine_tau, stick_bound, stick_entropy
from tagsight.runtime.kernels import kernel
from tagsight.types import Floats, Ints


class StickTerms(NamedTuple):
    """The stick terms of one photo in the bound."""

    entropy: float
    log_prior: float


@kernel()
def find_positions(order: Ints, local_index: Ints, plan: StickPlan, s: int) -> Ints:
    """Return the positions in `order` (K,) of the factors in the photo's sequence `s`."""
    positions = np.empty(len(order), np.int64)
    n_held = 0
    for p in range(len(order)):
        if plan.sequence[order[p]] == s and (plan.spans_all or local_index[order[p]] >= 0):
            positions[n_held] = p
            n_held += 1
    return positions[:n_held]


@kernel()
def count_evidence(columns: Ints, local_index: Ints, expected_count: Floats, n_regions: int) -> tuple[Floats, Floats]:
    """Return count and absent of the given columns; both are 0 for forbidden factors."""
    count = np.zeros(len(columns))
    absent = np.zeros(len(columns))
    for t in range(len(columns)):
        k = local_index[columns[t]]
        if k >= 0:
            count[t] = expected_count[k]
            absent[t] = max(n_regions - expected_count[k], 0.0)
    return count, absent


@kernel()
def update_photo_sticks(
    order: Ints, tau: Floats, local_index: Ints, expected_count: Floats, n_regions: int, alpha: Floats, plan: StickPlan
) -> None:
    """Update tau (K, 2) of the photo, and its `order` if ranked, in place."""
    for s in range(len(alpha)):
        positions = find_positions(order, local_index, plan, s)
        columns = order[positions]
        count, absent = count_evidence(columns, local_index, expected_count, n_regions)
        best = tau[columns]
        refine_tau(count, absent, alpha[s], best)
        if plan.ranked and not _descends(count):
            by_count = np.argsort(-count, kind="mergesort")
            count_, absent_, ranked = count[by_count], absent[by_count], tau[columns]
            refine_tau(count_, absent_, alpha[s], ranked)
            if stick_bound(count_, absent_, alpha[s], ranked) > stick_bound(count, absent, alpha[s], best):
                columns, best = columns[by_count], ranked
        for t in range(len(columns)):
            order[positions[t]] = columns[t]
            tau[columns[t]] = best[t]


@kernel()
def _descends(values: Floats) -> bool:
    return bool(np.all(values[1:] <= values[:-1]))


@kernel()
def prior_logits(order: Ints, tau: Floats, local_index: Ints, plan: StickPlan, S: int, logits: Floats) -> None:
    """Fill E[log pi_k] - E[log(1 - pi_k)] for the photo's allowed factors."""
    for s in range(S):
        columns = order[find_positions(order, local_index, plan, s)]
        T = len(columns)
        log_on, log_off, log_break = np.empty(T), np.empty(T), np.empty(T)
        expect_logs(tau[columns], log_on, log_off, log_break)
        for t in range(T):
            if local_index[columns[t]] >= 0:
                logits[local_index[columns[t]]] = log_on[t] - log_off[t]


@kernel()
def add_stick_terms(
    order: Ints,
    tau: Floats,
    local_index: Ints,
    expected_count: Floats,
    n_regions: int,
    plan: StickPlan,
    n_sticks: Floats,
    log_sticks: Floats,
) -> StickTerms:
    """Add the photo's sticks to `n_sticks` and `log_sticks` (S,); return its terms of the bound."""
    entropy = 0.0
    log_prior = 0.0
    for s in range(len(n_sticks)):
        columns = order[find_positions(order, local_index, plan, s)]
        T = len(columns)
        count, absent = count_evidence(columns, local_index, expected_count, n_regions)
        log_on, log_off, log_break = np.empty(T), np.empty(T), np.empty(T)
        n_sticks[s] += T
        log_sticks[s] += expect_logs(tau[columns], log_on, log_off, log_break)
        entropy += stick_entropy(tau[columns])
        log_prior += np.sum(count * log_on) + np.sum(absent * log_off)
        if plan.ranked:
            log_prior -= math.lgamma(T + 1.0)  # each order of the sequence is as probable as any other
    return StickTerms(entropy, log_prior)


def expect_weights(order: Ints, sticks: Floats, allowed: Ints, plan: StickPlan) -> Floats:
    """Return E[pi] (I, K) of every photo: products of E[v] along each sequence; 0 for forbidden factors.

    `order` (I, K), `sticks` (I, K, 2), `allowed` (I, K).
    """
    mean = sticks[..., 0] / sticks.sum(axis=-1)
    held = np.ones_like(allowed, bool) if plan.spans_all else allowed.astype(bool)
    mean = np.take_along_axis(np.where(held, mean, 1.0), order, axis=1)
    weight = np.empty_like(mean)
    for s in range(plan.n_sequences):
        positions = plan.sequence[plan.order] == s
        weight[:, positions] = np.cumprod(mean[:, positions], axis=1)
    columns = np.empty_like(weight)
    np.put_along_axis(columns, order, weight, axis=1)
    return columns * allowed.astype(bool)
