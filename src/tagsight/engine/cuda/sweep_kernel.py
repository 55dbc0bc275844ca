"""One sweep over the factors of every photo, with one warp per photo; the equations are in `model.assignments`.

The lanes of a warp hold regions of one colour class, their registers a few factors at a time. The terms of the other
factors and of the neighbours are read from memory and summed once for these factors, which are then updated one after
another in registers.
"""

# pyright: standard, reportMissingImports=false

import triton
import triton.language as tl

CERTAIN = tl.constexpr(80.0)  # exp of a larger number would overflow
NEVER = tl.constexpr(-1e30)  # stands for log 0


@triton.jit
def sweep_photos(
    nu, log_odds, count, projection, logits, bias, B, R, exclusive, factor_start, factor, assign_start, slot_start,
    colour_start, class_start, neighbour_start, neighbour, weight, precision, coupling, first_photo, first_slot,
    n_columns, K,
    COUPLED: tl.constexpr, CENTRED: tl.constexpr, EXCLUSIVE: tl.constexpr, KEEP_LOG_ODDS: tl.constexpr,
    PARTS: tl.constexpr, FACTORS: tl.constexpr, REGIONS: tl.constexpr,
):  # fmt: skip
    """Update every nu of the photos once, in place, and fill `log_odds` with the logits of the new nu if KEEP_LOG_ODDS.

    `projection` (PARTS, K, n_columns) sums to phi X^T of the slots from `first_slot` on, `logits` (photos, K) are those
    of the sticks, `precision` (1,) is 1 / sigma^2. Without fields all regions of a photo are one class. `count`
    (photos, K) is memory for the n_k of a centred field, whose `R` is rho M. `exclusive` (K,) marks the factors of
    which at most one is on in a region. They come first in a photo.
    """
    here = tl.program_id(0).to(tl.int64)
    photo = first_photo + here
    slot = tl.load(slot_start + photo)
    n_regions = (tl.load(slot_start + photo + 1) - slot).to(tl.int32)
    f0 = tl.load(factor_start + photo)
    n_factors = (tl.load(factor_start + photo + 1) - f0).to(tl.int32)
    mine = nu + tl.load(assign_start + photo)
    log_odds += tl.load(assign_start + photo)
    factors = factor + f0
    projection += slot - first_slot
    logits += here * K
    colour = tl.load(colour_start + photo)
    n_classes = (tl.load(colour_start + photo + 1) - colour).to(tl.int32) if COUPLED or CENTRED else 1
    scale = tl.load(precision)
    count += here * K
    n_exclusive = 0
    if EXCLUSIVE:
        n_exclusive = _count_exclusive(exclusive, factors, n_factors, FACTORS)
    if CENTRED:
        _count_factors(count, mine, n_factors, n_regions, FACTORS, REGIONS)
        tl.debug_barrier()

    for c in range(n_classes):
        if COUPLED or CENTRED:
            first = (tl.load(class_start + colour + c) - slot).to(tl.int32)
            last = (tl.load(class_start + colour + c + 1) - slot).to(tl.int32)
        else:
            first, last = 0, n_regions
        for j0 in range(first, last, REGIONS):
            _update_tile(
                j0, last, mine, log_odds, count, projection, logits, bias, B, R, factors, neighbour_start + slot,
                neighbour, weight, scale, coupling, n_exclusive, n_factors, n_regions, n_columns, K,
                COUPLED, CENTRED, EXCLUSIVE, KEEP_LOG_ODDS, PARTS, FACTORS, REGIONS,
            )  # fmt: skip
        if COUPLED:
            tl.debug_barrier()


@triton.jit
def _update_tile(
    j0, last, mine, log_odds, count, projection, logits, bias, B, R, factors, neighbour_start, neighbour, weight,
    scale, coupling, n_exclusive, n_factors, n_regions, n_columns, K,
    COUPLED: tl.constexpr, CENTRED: tl.constexpr, EXCLUSIVE: tl.constexpr, KEEP_LOG_ODDS: tl.constexpr,
    PARTS: tl.constexpr, FACTORS: tl.constexpr, REGIONS: tl.constexpr,
):  # fmt: skip
    """Update all factors of REGIONS regions of one colour class, from region `j0` on."""
    line = tl.arange(0, FACTORS)
    j = j0 + tl.arange(0, REGIONS)
    real = j < last
    if COUPLED:
        e0 = tl.load(neighbour_start + j, mask=real, other=0)
        degree = (tl.load(neighbour_start + j + 1, mask=real, other=0) - e0).to(tl.int32)
        most = tl.max(degree, axis=0)
    else:
        e0, degree, most = j, j, 0
    if EXCLUSIVE:
        _update_exclusive(
            line, j, real, e0, degree, most, mine, log_odds, count, projection, logits, bias, B, R, factors, neighbour,
            weight, scale, coupling, n_exclusive, n_factors, n_regions, n_columns, K,
            COUPLED, CENTRED, KEEP_LOG_ODDS, PARTS, FACTORS, REGIONS,
        )  # fmt: skip
    for k0 in range(n_exclusive, n_factors, FACTORS):
        k = k0 + line
        column = tl.load(factors + k, mask=k < n_factors, other=0)
        tile = (k < n_factors)[:, None] & real[None, :]
        eta = _sum_evidence(
            k, column, tile, j, real, e0, degree, most, mine, projection, logits, bias, B, R, count, factors,
            neighbour, weight, scale, coupling, n_factors, n_regions, n_columns, K, COUPLED, CENTRED, PARTS,
            FACTORS, REGIONS,
        )  # fmt: skip
        _update_independent(
            k, line, column, tile, j, real, eta, mine, log_odds, count, B, R, n_factors, n_regions, K,
            CENTRED, KEEP_LOG_ODDS, FACTORS,
        )  # fmt: skip


@triton.jit
def _update_exclusive(
    line, j, real, e0, degree, most, mine, log_odds, count, projection, logits, bias, B, R, factors, neighbour, weight,
    scale, coupling, n_exclusive, n_factors, n_regions, n_columns, K,
    COUPLED: tl.constexpr, CENTRED: tl.constexpr, KEEP_LOG_ODDS: tl.constexpr, PARTS: tl.constexpr,
    FACTORS: tl.constexpr, REGIONS: tl.constexpr,
):  # fmt: skip
    """Update the exclusive factors of regions `j`: nu_jk = exp(eta_k) / (1 + sum_l exp(eta_l)).

    The log-odds eta are computed twice, once for the sum and once for nu.
    """
    highest = tl.zeros((REGIONS,), tl.float32)  # of all exclusive factors and of none, at log-odds 0
    rest = tl.full((REGIONS,), NEVER, tl.float32)  # log weight of all but the highest, relative to it
    for k0 in range(0, n_exclusive, FACTORS):
        k = k0 + line
        column = tl.load(factors + k, mask=k < n_exclusive, other=0)
        tile = (k < n_exclusive)[:, None] & real[None, :]
        eta = _sum_evidence(
            k, column, tile, j, real, e0, degree, most, mine, projection, logits, bias, B, R, count, factors,
            neighbour, weight, scale, coupling, n_factors, n_regions, n_columns, K, COUPLED, CENTRED, PARTS,
            FACTORS, REGIONS,
        )  # fmt: skip
        eta = tl.where(tile, eta, NEVER)
        for r in tl.static_range(FACTORS):
            logit = _pick_row(eta, line[:, None] == r)
            ahead = logit - highest
            rest = _log_add(rest, tl.minimum(ahead, 0.0)) - tl.maximum(ahead, 0.0)
            highest = tl.maximum(highest, logit)
    for k0 in range(0, n_exclusive, FACTORS):
        k = k0 + line
        column = tl.load(factors + k, mask=k < n_exclusive, other=0)
        tile = (k < n_exclusive)[:, None] & real[None, :]
        eta = _sum_evidence(
            k, column, tile, j, real, e0, degree, most, mine, projection, logits, bias, B, R, count, factors,
            neighbour, weight, scale, coupling, n_factors, n_regions, n_columns, K, COUPLED, CENTRED, PARTS,
            FACTORS, REGIONS,
        )  # fmt: skip
        relative = tl.minimum(eta - highest[None, :], 0.0)  # above 0 only beyond the tile
        _store_exclusive(
            k, tile, j, relative, rest, mine, log_odds, count, n_exclusive, n_regions, CENTRED, KEEP_LOG_ODDS
        )
    tl.debug_barrier()


@triton.jit
def _store_exclusive(
    k, tile, j, relative, rest, mine, log_odds, count, n_exclusive, n_regions, CENTRED: tl.constexpr,
    KEEP_LOG_ODDS: tl.constexpr,
):  # fmt: skip
    """Store nu = exp(relative) / (1 + exp(rest)) of exclusive factors `k` in regions `j`, with KEEP_LOG_ODDS its logit.

    `relative` are the log-odds minus the highest of the region, `rest` is the log of the sum of exp(relative) of all
    the others.
    """
    block = mine + k[:, None] * n_regions + j[None, :]
    before = tl.load(block, mask=tile, other=0.0)
    after = tl.exp(relative) / (1.0 + tl.exp(rest))[None, :]
    tl.store(block, after, mask=tile)
    if CENTRED:
        _add_to_count(count, k, n_exclusive, tl.sum(tl.where(tile, after - before, 0.0), axis=1))
    if KEEP_LOG_ODDS:
        top = relative >= 0.0
        others = tl.where(top, 1.0, 1.0 + tl.exp(rest)[None, :] - tl.exp(relative))
        new_log_odds = tl.where(top, -rest[None, :], relative - tl.log(others))
        tl.store(log_odds + k[:, None] * n_regions + j[None, :], new_log_odds, mask=tile)


@triton.jit
def _update_independent(
    k, line, column, tile, j, real, eta, mine, log_odds, count, B, R, n_factors, n_regions, K,
    CENTRED: tl.constexpr, KEEP_LOG_ODDS: tl.constexpr, FACTORS: tl.constexpr,
):  # fmt: skip
    """Update factors `k` of regions `j` one after another: nu_jk = 1 / (1 + exp(-eta_k)), eta += B_k (change of nu_jk).

    `eta` are the log-odds given the nu before the update.
    """
    block = mine + k[:, None] * n_regions + j[None, :]
    before = tl.load(block, mask=tile, other=0.0)
    after = before
    new_log_odds = eta
    for r in tl.static_range(FACTORS):
        this = line[:, None] == r
        logit = _pick_row(eta, this)
        value = 1.0 / (1.0 + tl.exp(tl.minimum(-logit, CERTAIN)))
        delta = value - _pick_row(before, this)
        row = B + tl.sum(tl.where(line == r, column, 0), axis=0) * K
        eta += tl.load(row + column)[:, None] * delta[None, :]
        if CENTRED:
            share = tl.sum(tl.where(real, delta, 0.0), axis=0) / n_regions
            rise = R + tl.sum(tl.where(line == r, column, 0), axis=0) * K
            eta -= (tl.load(rise + column) * share)[:, None]
        after = tl.where(this, value[None, :], after)
        if KEEP_LOG_ODDS:
            new_log_odds = tl.where(this, logit[None, :], new_log_odds)
    tl.store(block, after, mask=tile)
    if CENTRED:
        _add_to_count(count, k, n_factors, tl.sum(tl.where(tile, after - before, 0.0), axis=1))
    if KEEP_LOG_ODDS:
        tl.store(log_odds + k[:, None] * n_regions + j[None, :], new_log_odds, mask=tile)


@triton.jit
def _count_exclusive(exclusive, factors, n_factors, FACTORS: tl.constexpr):
    """Return how many of the photo's factors exclude each other."""
    line = tl.arange(0, FACTORS)
    total = 0
    for k0 in range(0, n_factors, FACTORS):
        column = tl.load(factors + k0 + line, mask=k0 + line < n_factors, other=0)
        total += tl.sum(tl.where(k0 + line < n_factors, tl.load(exclusive + column), 0), axis=0)
    return total


@triton.jit
def _sum_evidence(
    k, column, tile, j, real, e0, degree, most, mine, projection, logits, bias, B, R, count, factors, neighbour, weight,
    scale, coupling, n_factors, n_regions, n_columns, K,
    COUPLED: tl.constexpr, CENTRED: tl.constexpr, PARTS: tl.constexpr, FACTORS: tl.constexpr, REGIONS: tl.constexpr,
):  # fmt: skip
    """Return the log-odds (FACTORS, REGIONS) of factors `k` of the photo in regions `j`, given all other nu.

    eta_kj = (phi X^T)_kj / sigma^2 + bias_k + logits_k + sum_l B_kl nu_jl + beta sum_{m ~ j} w_jm (2 nu_mk - 1),
    minus sum_l R_kl n_l / N_i of a centred field.
    """
    where = column.to(tl.int64)[:, None] * n_columns + j[None, :]
    eta = tl.load(projection + where, mask=tile, other=0.0)
    if PARTS == 2:
        rest = (column.to(tl.int64) + K)[:, None] * n_columns + j[None, :]
        eta += tl.load(projection + rest, mask=tile, other=0.0)
    eta *= scale
    eta += (tl.load(bias + column) + tl.load(logits + column))[:, None]
    if COUPLED:
        message = tl.zeros((FACTORS, REGIONS), tl.float32)
        for e in range(most):
            live = e < degree
            m = tl.load(neighbour + e0 + e, mask=live, other=0)
            w = tl.load(weight + e0 + e, mask=live, other=0.0)
            pair = tile & live[None, :]
            theirs = tl.load(mine + k[:, None] * n_regions + m[None, :], mask=pair, other=0.5)
            message += w[None, :] * (2.0 * theirs - 1.0)
        eta += coupling * message
    for other in range(n_factors):
        value = tl.load(mine + other * n_regions + j, mask=real, other=0.0)
        row = B + tl.load(factors + other) * K
        eta += tl.load(row + column)[:, None] * value[None, :]
        if CENTRED:
            share = tl.load(count + other) / n_regions
            eta -= (tl.load(R + tl.load(factors + other) * K + column) * share)[:, None]
    return eta


@triton.jit
def _add_to_count(count, k, n_factors, change):
    """Add `change` (FACTORS,) to the n_k of factors `k`."""
    there = tl.load(count + k, mask=k < n_factors, other=0.0)
    tl.debug_barrier()
    tl.store(count + k, there + change, mask=k < n_factors)
    tl.debug_barrier()


@triton.jit
def _log_add(a, b):
    """log(exp(a) + exp(b))."""
    return tl.maximum(a, b) + tl.log(1.0 + tl.exp(-tl.abs(a - b)))


@triton.jit
def _count_factors(count, mine, n_factors, n_regions, FACTORS: tl.constexpr, REGIONS: tl.constexpr):
    """Fill `count` with n_k = sum_j nu_jk."""
    for k0 in range(0, n_factors, FACTORS):
        k = k0 + tl.arange(0, FACTORS)
        total = tl.zeros((FACTORS, REGIONS), tl.float32)
        for j0 in range(0, n_regions, REGIONS):
            j = j0 + tl.arange(0, REGIONS)
            tile = (k < n_factors)[:, None] & (j < n_regions)[None, :]
            total += tl.load(mine + k[:, None] * n_regions + j[None, :], mask=tile, other=0.0)
        tl.store(count + k, tl.sum(total, axis=1), mask=k < n_factors)


@triton.jit
def _pick_row(tile, this):
    """Return the row of `tile` that `this` marks; adding -0.0 changes no number, so the compiler drops the sum."""
    return tl.sum(tl.where(this, tile, -0.0), axis=0)
