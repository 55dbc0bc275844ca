"""The sticks of every photo, one program per photo, all its sequences at once; the equations are in `model.sticks`.

Sticks are stored by place: `column[p]` is the factor at place p of the photo's order, tau_1[p] and tau_2[p] its stick.
`count` (photos, K) holds n_k, and -1 where the tags forbid a factor.

exp(e_t) is summed without taking logarithms: with tau_2 >= 1 the first of a sequence is at least about
1 / (tau_1 + tau_2), all are at most 1, and those that underflow are negligible.
"""

# pyright: standard, reportMissingImports=false

import triton
import triton.language as tl

from tagsight.engine.cuda.special import digamma_and_log_gamma, running_sum

LOWEST = tl.constexpr(-1e300)  # below any bound
UPDATES = tl.constexpr(3)  # as model.sticks.UPDATES


@triton.jit
def prior_logits(
    logits, column, tau_1, tau_2, stick_start, sequence, first_photo, K, PLACES: tl.constexpr
):  # fmt: skip
    """Fill E[log pi_k] - E[log(1 - pi_k)] (photos, K) for the factors that have a stick."""
    here = tl.program_id(0).to(tl.int64)
    start = tl.load(stick_start + first_photo + here)
    place = tl.arange(0, PLACES)
    held = place < tl.load(stick_start + first_photo + here + 1) - start
    factor = tl.load(column + start + place, mask=held, other=0)
    segment = tl.where(held, tl.load(sequence + factor), -1)
    a = tl.load(tau_1 + start + place, mask=held, other=1.0)
    b = tl.load(tau_2 + start + place, mask=held, other=1.0)
    _, _, log_on, _, off, _ = _expect_logs(segment, a, b)
    tl.store(logits + here * K + factor, (log_on - tl.log(off)).to(tl.float32), mask=held)


@triton.jit
def settle_sticks(
    terms, column, tau_1, tau_2, by_count, stick_start, sequence, slot_start, count, alpha, first_photo, K,
    UPDATE: tl.constexpr, RANKED: tl.constexpr, SEQUENCES: tl.constexpr, PLACES: tl.constexpr,
):  # fmt: skip
    """Update tau, and the order if ranked; fill `terms` (photos, 2 + S): entropy, log prior, sums of E[log v].

    `by_count` is memory of the size of `column`. The log prior lacks the constant -log T! of ranked sequences.
    """
    here = tl.program_id(0).to(tl.int64)
    photo = first_photo + here
    start = tl.load(stick_start + photo)
    n_places = (tl.load(stick_start + photo + 1) - start).to(tl.int32)
    n_regions = (tl.load(slot_start + photo + 1) - tl.load(slot_start + photo)).to(tl.float64)
    place = tl.arange(0, PLACES)
    held = place < n_places
    factor = tl.load(column + start + place, mask=held, other=0)
    segment = tl.where(held, tl.load(sequence + factor), -1)
    alphas = tl.load(alpha + segment, mask=held, other=1.0)
    start_a = tl.load(tau_1 + start + place, mask=held, other=1.0)
    start_b = tl.load(tau_2 + start + place, mask=held, other=1.0)
    counts = count + here * K
    if UPDATE and RANKED:
        rank = _rank_by_count(counts, column + start, sequence, factor, segment, place, n_places)
        tl.store(by_count + start + rank, factor, mask=held)
        tl.debug_barrier()
        n_trials = 1 + tl.max(tl.where(held, (rank != place).to(tl.int32), 0), axis=0)
    else:
        n_trials = 1

    best_a, best_b, best_factor = start_a, start_b, factor
    best_log_v, best_entropy, best_prior = start_a * 0.0, start_a * 0.0, start_a * 0.0 + LOWEST
    for trial in range(n_trials):  # the current order, then the order by count
        if trial == 1:
            factor = tl.load(by_count + start + place, mask=held, other=0)
        number, absent = _evidence(counts, factor, held, n_regions)
        a, b = start_a, start_b
        if UPDATE:
            a, b = _refine(segment, a, b, number, absent, alphas)
        log_v, log_rest, log_on, _, off, log_beta = _expect_logs(segment, a, b)
        entropy = log_beta - (a - 1.0) * log_v - (b - 1.0) * log_rest
        prior = number * log_on + absent * tl.log(off)
        gain = (alphas - 1.0) * (log_v - best_log_v) + (entropy - best_entropy) + (prior - best_prior)
        better = place < 0
        for s in tl.static_range(SEQUENCES):
            mine = segment == s
            better = better | (tl.where(mine, tl.sum(tl.where(mine, gain, 0.0), axis=0), 0.0) > 0.0)
        best_a, best_b = tl.where(better, a, best_a), tl.where(better, b, best_b)
        best_factor, best_log_v = tl.where(better, factor, best_factor), tl.where(better, log_v, best_log_v)
        best_entropy, best_prior = tl.where(better, entropy, best_entropy), tl.where(better, prior, best_prior)

    if UPDATE:
        tl.store(column + start + place, best_factor, mask=held)
        tl.store(tau_1 + start + place, best_a, mask=held)
        tl.store(tau_2 + start + place, best_b, mask=held)
    out = terms + here * (2 + SEQUENCES)
    tl.store(out, tl.sum(tl.where(held, best_entropy, 0.0), axis=0))
    tl.store(out + 1, tl.sum(tl.where(held, best_prior, 0.0), axis=0))
    for s in tl.static_range(SEQUENCES):
        tl.store(out + 2 + s, tl.sum(tl.where(segment == s, best_log_v, 0.0), axis=0))


@triton.jit
def _evidence(counts, factor, held, n_regions):
    """Return count and absent of the given factors; both are 0 for forbidden factors."""
    count = tl.load(counts + factor, mask=held, other=-1.0)
    known = count >= 0.0
    return tl.where(known, count, 0.0), tl.where(known, tl.maximum(n_regions - count, 0.0), 0.0)


@triton.jit
def _expect_logs(segment, a, b):
    """Return by place E[log v], E[log(1 - v)], E[log pi], exp(e), exp of the bound of E[log(1 - pi)], log B(tau)."""
    psi_a, gamma_a = digamma_and_log_gamma(a)
    psi_b, gamma_b = digamma_and_log_gamma(b)
    psi_both, gamma_both = digamma_and_log_gamma(a + b)
    log_v = psi_a - psi_both
    log_rest = psi_b - psi_both
    log_on = running_sum(segment, log_v, False)
    broken = tl.exp(log_on - log_v + log_rest)
    off = running_sum(segment, broken, False)
    return log_v, log_rest, log_on, broken, off, gamma_a + gamma_b - gamma_both


@triton.jit
def _refine(segment, a, b, count, absent, alpha):
    """Return tau updated UPDATES times; reach_t = sum_{m>=t} absent_m / exp(log_off_m), see model.sticks.update_tau."""
    above = running_sum(segment, count, True)
    absent_above = running_sum(segment, absent, True)
    for _ in range(UPDATES):
        _, _, _, broken, off, _ = _expect_logs(segment, a, b)
        reach = running_sum(segment, absent / off, True)
        a = alpha + above + tl.maximum(absent_above - off * reach, 0.0)
        b = 1.0 + broken * reach
    return a, b


@triton.jit
def _rank_by_count(counts, column, sequence, factor, segment, place, n_places):
    """Return the place of each factor when every sequence is sorted by decreasing count, with equal counts in order."""
    count = tl.maximum(tl.load(counts + factor), 0.0)
    rank = place * 0
    for other in range(n_places):
        other_factor = tl.load(column + other)
        other_count = tl.maximum(tl.load(counts + other_factor), 0.0)
        before = other < place
        same = tl.load(sequence + other_factor) == segment
        ahead = tl.where(same, (other_count > count) | ((other_count == count) & before), before)
        rank += ahead.to(tl.int32)
    return rank
