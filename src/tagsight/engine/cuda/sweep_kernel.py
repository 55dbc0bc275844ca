"""One sweep over the factors of every photo, one warp a photo; the equations are in `model.assignments`.

Lanes hold regions of one colour class, registers hold a few factors at a time. What the other factors and the
neighbours say is summed from memory once for those few, then they are updated one after another in registers.
"""

# pyright: reportMissingImports=false, reportPossiblyUnboundVariable=false, reportIndexIssue=false

import triton
import triton.language as tl

CERTAIN = tl.constexpr(80.0)  # exp of more would overflow
NEVER = tl.constexpr(-1e30)  # the logarithm of nothing


@triton.jit
def sweep_photos(
    nu, log_odds, mass, projection, logits, bias, B, R, exclusive, factor_start, factor, assign_start, slot_start,
    colour_start, class_start, neighbour_start, neighbour, weight, precision, coupling, first_photo, first_slot,
    n_columns, K,
    COUPLED: tl.constexpr, CENTRED: tl.constexpr, EXCLUSIVE: tl.constexpr, KEEP_ODDS: tl.constexpr,
    PARTS: tl.constexpr, FACTORS: tl.constexpr, REGIONS: tl.constexpr,
):  # fmt: skip
    """Update every nu of the photos once, in place, and fill `log_odds` with those they were updated to if kept.

    `projection` (PARTS, K, n_columns) sums to phi X^T of the slots from `first_slot` on, `logits` (photos, K) are those
    of the sticks, `precision` (1,) is 1 / sigma^2. Where nothing ties regions, all of a photo are one class. `mass`
    (photos, K) is room for the n_k of a centred field, whose `R` is rho M. `exclusive` (K,) marks factors of which at
    most one is on in a region. They come first in a photo; their log-odds are computed twice, once for the sum over
    them and once for their nu.
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
    line = tl.arange(0, FACTORS)
    scale = tl.load(precision)
    mass += here * K
    n_exclusive = 0
    if EXCLUSIVE:
        for k0 in range(0, n_factors, FACTORS):
            column = tl.load(factors + k0 + line, mask=k0 + line < n_factors, other=0)
            n_exclusive += tl.sum(tl.where(k0 + line < n_factors, tl.load(exclusive + column), 0), axis=0)
    if CENTRED:
        _weigh_factors(mass, mine, n_factors, n_regions, FACTORS, REGIONS)
        tl.debug_barrier()

    for c in range(n_classes):
        if COUPLED or CENTRED:
            first = (tl.load(class_start + colour + c) - slot).to(tl.int32)
            last = (tl.load(class_start + colour + c + 1) - slot).to(tl.int32)
        else:
            first, last = 0, n_regions
        for j0 in range(first, last, REGIONS):
            j = j0 + tl.arange(0, REGIONS)
            real = j < last
            if COUPLED:
                e0 = tl.load(neighbour_start + slot + j, mask=real, other=0)
                degree = (tl.load(neighbour_start + slot + j + 1, mask=real, other=0) - e0).to(tl.int32)
                most = tl.max(degree, axis=0)
            else:
                e0, degree, most = j, j, 0
            if EXCLUSIVE:
                highest = tl.zeros((REGIONS,), tl.float32)  # of all exclusive factors and of none, at log-odds 0
                rest = tl.full((REGIONS,), NEVER, tl.float32)  # log weight of all but the highest, relative to it
                for k0 in range(0, n_exclusive, FACTORS):
                    k = k0 + line
                    column = tl.load(factors + k, mask=k < n_exclusive, other=0)
                    tile = (k < n_exclusive)[:, None] & real[None, :]
                    eta = _sum_evidence(
                        k, column, tile, j, real, e0, degree, most, mine, projection, logits, bias, B, R, mass, factors,
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
                        k, column, tile, j, real, e0, degree, most, mine, projection, logits, bias, B, R, mass, factors,
                        neighbour, weight, scale, coupling, n_factors, n_regions, n_columns, K, COUPLED, CENTRED, PARTS,
                        FACTORS, REGIONS,
                    )  # fmt: skip
                    lag = tl.minimum(eta - highest[None, :], 0.0)  # above 0 only beyond the tile
                    block = mine + k[:, None] * n_regions + j[None, :]
                    before = tl.load(block, mask=tile, other=0.0)
                    after = tl.exp(lag) / (1.0 + tl.exp(rest))[None, :]
                    tl.store(block, after, mask=tile)
                    if CENTRED:
                        _move_mass(mass, k, n_exclusive, tl.sum(tl.where(tile, after - before, 0.0), axis=1))
                    if KEEP_ODDS:
                        top = lag >= 0.0
                        others = tl.where(top, 1.0, 1.0 + tl.exp(rest)[None, :] - tl.exp(lag))
                        odds = tl.where(top, -rest[None, :], lag - tl.log(others))
                        tl.store(log_odds + k[:, None] * n_regions + j[None, :], odds, mask=tile)
                tl.debug_barrier()
            for k0 in range(n_exclusive, n_factors, FACTORS):
                k = k0 + line
                column = tl.load(factors + k, mask=k < n_factors, other=0)
                tile = (k < n_factors)[:, None] & real[None, :]
                eta = _sum_evidence(
                    k, column, tile, j, real, e0, degree, most, mine, projection, logits, bias, B, R, mass, factors,
                    neighbour, weight, scale, coupling, n_factors, n_regions, n_columns, K, COUPLED, CENTRED, PARTS,
                    FACTORS, REGIONS,
                )  # fmt: skip
                block = mine + k[:, None] * n_regions + j[None, :]
                before = tl.load(block, mask=tile, other=0.0)
                after = before
                odds = eta
                for r in tl.static_range(FACTORS):
                    this = line[:, None] == r
                    logit = _pick_row(eta, this)
                    value = 1.0 / (1.0 + tl.exp(tl.minimum(-logit, CERTAIN)))
                    moved = value - _pick_row(before, this)
                    row = B + tl.sum(tl.where(line == r, column, 0), axis=0) * K
                    eta += tl.load(row + column)[:, None] * moved[None, :]
                    if CENTRED:
                        share = tl.sum(tl.where(real, moved, 0.0), axis=0) / n_regions
                        rise = R + tl.sum(tl.where(line == r, column, 0), axis=0) * K
                        eta -= (tl.load(rise + column) * share)[:, None]
                    after = tl.where(this, value[None, :], after)
                    if KEEP_ODDS:
                        odds = tl.where(this, logit[None, :], odds)
                tl.store(block, after, mask=tile)
                if CENTRED:
                    _move_mass(mass, k, n_factors, tl.sum(tl.where(tile, after - before, 0.0), axis=1))
                if KEEP_ODDS:
                    tl.store(log_odds + k[:, None] * n_regions + j[None, :], odds, mask=tile)
        if COUPLED:
            tl.debug_barrier()


@triton.jit
def _sum_evidence(
    k, column, tile, j, real, e0, degree, most, mine, projection, logits, bias, B, R, mass, factors, neighbour, weight,
    scale, coupling, n_factors, n_regions, n_columns, K,
    COUPLED: tl.constexpr, CENTRED: tl.constexpr, PARTS: tl.constexpr, FACTORS: tl.constexpr, REGIONS: tl.constexpr,
):  # fmt: skip
    """Log-odds (FACTORS, REGIONS) of factors `k` of the photo in regions `j`, the other factors as they are."""
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
            share = tl.load(mass + other) / n_regions
            eta -= (tl.load(R + tl.load(factors + other) * K + column) * share)[:, None]
    return eta


@triton.jit
def _move_mass(mass, k, n_factors, gained):
    """Add what factors `k` gained in this tile to their sums over regions."""
    there = tl.load(mass + k, mask=k < n_factors, other=0.0)
    tl.debug_barrier()
    tl.store(mass + k, there + gained, mask=k < n_factors)
    tl.debug_barrier()


@triton.jit
def _log_add(a, b):
    """log(exp(a) + exp(b))."""
    return tl.maximum(a, b) + tl.log(1.0 + tl.exp(-tl.abs(a - b)))


@triton.jit
def _weigh_factors(mass, mine, n_factors, n_regions, FACTORS: tl.constexpr, REGIONS: tl.constexpr):
    """Fill `mass` with the sums over regions of each factor's nu."""
    for k0 in range(0, n_factors, FACTORS):
        k = k0 + tl.arange(0, FACTORS)
        total = tl.zeros((FACTORS, REGIONS), tl.float32)
        for j0 in range(0, n_regions, REGIONS):
            j = j0 + tl.arange(0, REGIONS)
            tile = (k < n_factors)[:, None] & (j < n_regions)[None, :]
            total += tl.load(mine + k[:, None] * n_regions + j[None, :], mask=tile, other=0.0)
        tl.store(mass + k, tl.sum(total, axis=1), mask=k < n_factors)


@triton.jit
def _pick_row(tile, this):
    """The one row marked; adding -0.0 changes no number, so the compiler drops the sum."""
    return tl.sum(tl.where(this, tile, -0.0), axis=0)
