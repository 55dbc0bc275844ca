"""Sums over a photo's nu: counts, entropy, agreement of neighbours; and nu as a dense array over all K factors."""

# pyright: standard, reportMissingImports=false

import triton
import triton.language as tl


@triton.jit
def summarise_photos(
    dense, count, terms, nu, exclusive, factor_start, factor, assign_start, slot_start, neighbour_start, neighbour,
    weight, first_photo, first_slot, n_columns, K,
    COUPLED: tl.constexpr, EXCLUSIVE: tl.constexpr, PARTS: tl.constexpr, FACTORS: tl.constexpr, REGIONS: tl.constexpr,
):  # fmt: skip
    """Fill the allowed entries of `dense` (PARTS, K, n_columns), `count` (photos, K), `terms` (entropy, agreement)."""
    here = tl.program_id(0).to(tl.int64)
    photo = first_photo + here
    slot = tl.load(slot_start + photo)
    n_regions = (tl.load(slot_start + photo + 1) - slot).to(tl.int32)
    f0 = tl.load(factor_start + photo)
    n_factors = (tl.load(factor_start + photo + 1) - f0).to(tl.int32)
    mine = nu + tl.load(assign_start + photo)
    dense += slot - first_slot
    entropy = tl.zeros((FACTORS, REGIONS), tl.float32)
    agreement = tl.zeros((FACTORS, REGIONS), tl.float32)

    for k0 in range(0, n_factors, FACTORS):
        k = k0 + tl.arange(0, FACTORS)
        column = tl.load(factor + f0 + k, mask=k < n_factors, other=0)
        present = tl.zeros((FACTORS, REGIONS), tl.float64)  # sticks are ranked by it
        for j0 in range(0, n_regions, REGIONS):
            j = j0 + tl.arange(0, REGIONS)
            real = j < n_regions
            tile = (k < n_factors)[:, None] & real[None, :]
            value = tl.load(mine + k[:, None] * n_regions + j[None, :], mask=tile, other=0.0)
            present += value
            entropy -= _times_log(value)
            if EXCLUSIVE:
                entropy -= tl.where(tl.load(exclusive + column)[:, None] != 0, 0.0, _times_log(1.0 - value))
            else:
                entropy -= _times_log(1.0 - value)
            _store_parts(dense, value, column, tile, j, n_columns, K, PARTS)
            if COUPLED:
                agreement = _add_agreement(
                    agreement, value, k, tile, j, real, mine, neighbour_start + slot, neighbour, weight, n_regions
                )
        tl.store(count + here * K + column, tl.sum(present, axis=1), mask=k < n_factors)
    if EXCLUSIVE:
        entropy = _add_none_entropy(entropy, mine, exclusive, factor + f0, n_factors, n_regions, FACTORS, REGIONS)
    tl.store(terms + here * 2, tl.sum(tl.sum(entropy, axis=1), axis=0))
    tl.store(terms + here * 2 + 1, tl.sum(tl.sum(agreement, axis=1), axis=0))


@triton.jit
def _store_parts(dense, value, column, tile, j, n_columns, K, PARTS: tl.constexpr):
    """Store nu as PARTS numbers of the type of `dense` (PARTS, K, n_columns) that sum to it."""
    where = column.to(tl.int64)[:, None] * n_columns + j[None, :]
    rounded = value.to(dense.dtype.element_ty)
    tl.store(dense + where, rounded, mask=tile)
    if PARTS == 2:
        rest = (value - rounded.to(tl.float32)).to(dense.dtype.element_ty)
        where = (column.to(tl.int64) + K)[:, None] * n_columns + j[None, :]
        tl.store(dense + where, rest, mask=tile)


@triton.jit
def _add_agreement(agreement, value, k, tile, j, real, mine, neighbour_start, neighbour, weight, n_regions):
    """Add w_jm P(z_jk = z_mk) of the neighbours m > j of regions `j` to `agreement` (FACTORS, REGIONS); return it."""
    e0 = tl.load(neighbour_start + j, mask=real, other=0)
    degree = (tl.load(neighbour_start + j + 1, mask=real, other=0) - e0).to(tl.int32)
    for e in range(tl.max(degree, axis=0)):
        m = tl.load(neighbour + e0 + e, mask=e < degree, other=0)
        once = (e < degree) & (m > j)
        w = tl.load(weight + e0 + e, mask=once, other=0.0)
        pair = tile & once[None, :]
        theirs = tl.load(mine + k[:, None] * n_regions + m[None, :], mask=pair, other=0.0)
        same = value * theirs + (1.0 - value) * (1.0 - theirs)
        agreement += tl.where(pair, w[None, :] * same, 0.0)
    return agreement


@triton.jit
def _add_none_entropy(
    entropy, mine, exclusive, factors, n_factors, n_regions, FACTORS: tl.constexpr, REGIONS: tl.constexpr
):
    """Add -q log q to the first row of `entropy`, with q = 1 - sum_k nu_jk over exclusive factors; return it."""
    for j0 in range(0, n_regions, REGIONS):
        j = j0 + tl.arange(0, REGIONS)
        on = tl.zeros((FACTORS, REGIONS), tl.float32)
        for k0 in range(0, n_factors, FACTORS):
            k = k0 + tl.arange(0, FACTORS)
            column = tl.load(factors + k, mask=k < n_factors, other=0)
            tile = (k < n_factors)[:, None] & (j < n_regions)[None, :]
            value = tl.load(mine + k[:, None] * n_regions + j[None, :], mask=tile, other=0.0)
            on += tl.where(tl.load(exclusive + column)[:, None] != 0, value, 0.0)
        none = 1.0 - tl.sum(on, axis=0)
        left = tl.where(j < n_regions, _times_log(none), 0.0)
        entropy -= tl.where(tl.arange(0, FACTORS)[:, None] == 0, left[None, :], 0.0)
    return entropy


@triton.jit
def _times_log(x):
    """x log x; 0 at 0."""
    return tl.where(x > 0.0, x * tl.log(tl.maximum(x, 1e-30)), 0.0)
