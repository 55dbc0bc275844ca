r"""The local step of one photo: project its features, sweep nu and tau, add to the summary.

Only two products use the features, P = phi X^T before the sweeps and Y = nu X after them. Both are restricted to the
factors that the photo allows. Its features are gathered once and stay in the processor's cache between the two.

Arrays of photo i, which has N_i regions and K_i allowed factors:

    factor (K_i,)          column of each allowed factor, in the order of a sweep
    local_index (K,)       the inverse: place of each column in `factor`; -1 for forbidden factors
    feature_row (N_i,)     row of `x` that holds the features of each slot (see `layout.Layout`)
    expected_count (K_i,)  n_k, the sum of nu_jk over the regions
"""

from typing import NamedTuple

import numpy as np

from tagsight.model.assignments import CentredField, Neighbours, assign_entropy, sweep_assignments
from tagsight.model.fields import spatial_agreement
from tagsight.model.layout import Layout
from tagsight.model.photo_sticks import add_stick_terms, prior_logits, update_photo_sticks
from tagsight.model.settings import StickPlan
from tagsight.model.state import Local, SummaryStatistics
from tagsight.runtime.kernels import kernel
from tagsight.types import Array, Floats, Ints


class SweepOptions(NamedTuple):
    """Options of a local step."""

    passes: int  # maximum number of sweeps over a photo's factors; 0: only summarise
    tol: float = 0.0  # stop when no nu changes by more
    summarise: bool = True  # compute the whole summary, or only its counts


class Potentials(NamedTuple):
    """The globals in the form that sweeps use; see `assignments`."""

    weighted_mean: Array  # (K, D) phi Omega^-1
    bias: Array  # (K,)   -(D Phi_k + phi_k Omega^-1 phi_k) / 2 sigma^2
    B: Array  # (K, K)
    R: Array  # (K, K) rho M if the field is centred; otherwise (0, 0)
    precision: float  # 1 / sigma^2
    coupling: float  # beta
    alpha: Floats  # (S,)


class Scalars(NamedTuple):
    """The scalar entries of a summary that sweeps change."""

    stick_entropy: float
    log_prior: float
    assign_entropy: float
    agreement: float


class Workspace(NamedTuple):
    """Memory that is reused for each photo; new large arrays would cost a page fault every 4 kB."""

    features: Array  # (largest number of regions, D)
    mean: Array  # (K, D)
    cross: Array  # (K, D)


@kernel()
def update_photos(
    first: int,
    last: int,
    X: Array,
    layout: Layout,
    local: Local,
    potentials: Potentials,
    plan: StickPlan,
    options: SweepOptions,
    total: SummaryStatistics,
    log_odds: Array,
) -> Scalars:
    """Update `local` for photos first..last-1 in place and add their counts to the arrays of `total`.

    `log_odds` is empty, or has the layout of `local.assign` and is filled with the logits of nu.
    """
    entropy_v, log_prior, entropy_z, agreement = 0.0, 0.0, 0.0, 0.0
    work = _workspace(first, last, layout, potentials.weighted_mean)
    for i in range(first, last):
        rows = layout.rows[layout.slot_start[i] : layout.slot_start[i + 1]]
        low, high = (rows.min(), rows.max()) if len(rows) else (0, -1)
        if high - low + 1 == len(rows):
            terms = _update_photo(
                i,
                X[low : high + 1],
                rows - low,
                layout,
                local,
                potentials,
                plan,
                options,
                work,
                total,
                log_odds,
            )
        else:
            x = work.features[: len(rows)]
            _gather_rows(X, rows, x)
            feature_row = np.arange(len(rows))
            terms = _update_photo(i, x, feature_row, layout, local, potentials, plan, options, work, total, log_odds)
        entropy_v += terms.stick_entropy
        log_prior += terms.log_prior
        entropy_z += terms.assign_entropy
        agreement += terms.agreement
    return Scalars(entropy_v, log_prior, entropy_z, agreement)


@kernel()
def _update_photo(
    i: int,
    x: Array,
    feature_row: Ints,
    layout: Layout,
    local: Local,
    potentials: Potentials,
    plan: StickPlan,
    options: SweepOptions,
    work: Workspace,
    total: SummaryStatistics,
    log_odds: Array,
) -> Scalars:
    """Sweep and summarise photo `i` with features `x` (N_i, D)."""
    n_regions = len(feature_row)
    factor = layout.factor[layout.factor_start[i] : layout.factor_start[i + 1]]
    block = slice(layout.assign_start[i], layout.assign_start[i + 1])
    nu = local.assign[block].reshape(len(factor), n_regions)
    order, tau = local.order[i], local.sticks[i]
    local_index = index_allowed(factor, len(plan.sequence))
    graph = _photo_graph(layout, i, nu)
    expected_count = np.empty(len(factor))
    n_exclusive = count_exclusive(plan, factor)

    if options.passes > 0:
        _gather_rows(potentials.weighted_mean, factor, work.mean)
        unary = _log_likelihood(x, feature_row, factor, work.mean[: len(factor)], potentials)
        entropy = _sweep_photo(
            nu, order, tau, unary, expected_count, factor, local_index, graph, potentials, plan, options, n_exclusive
        )
        if len(log_odds):
            log_odds[block] = unary.ravel()
    else:
        sum_rows(nu, expected_count)
        entropy = assign_entropy(nu, n_exclusive)

    for k in range(len(factor)):
        total.count[factor[k]] += expected_count[k]
    agreement = 0.0
    if options.summarise:
        agreement = _add_sums(
            x, feature_row, nu, expected_count, factor, graph, potentials.coupling, n_exclusive, work, total
        )
    sticks = add_stick_terms(order, tau, local_index, expected_count, n_regions, plan, total.n_sticks, total.log_sticks)
    return Scalars(sticks.entropy, sticks.log_prior, entropy, agreement)


@kernel()
def _sweep_photo(
    nu: Array,
    order: Ints,
    tau: Floats,
    unary: Array,
    expected_count: Floats,
    factor: Ints,
    local_index: Ints,
    graph: Neighbours,
    potentials: Potentials,
    plan: StickPlan,
    options: SweepOptions,
    n_exclusive: int,
) -> float:
    """Update nu, tau and the order of one photo in turn, in place; return the entropy of q(z).

    `unary` is the log-likelihood term (P_kj - (D Phi_k + |phi_k|^2) / 2) / sigma^2, and is replaced by the log-odds of
    the new nu. `expected_count` (K_i,) is filled with n_k.
    """
    B = _gather_pairs(potentials.B, factor)
    interaction = np.dot(B, nu)
    centred_field = _photo_centred_field(potentials.R, factor, nu)
    likelihood = unary.copy()
    logits = np.empty(len(factor))
    entropy = 0.0
    for p in range(options.passes):
        prior_logits(order, tau, local_index, plan, len(potentials.alpha), logits)
        _add_columns(likelihood, logits, unary)
        last = p == options.passes - 1
        swept = sweep_assignments(
            nu, unary, interaction, B, centred_field, graph, potentials.coupling, n_exclusive, last
        )
        entropy = swept.entropy
        sum_rows(nu, expected_count)
        update_photo_sticks(order, tau, local_index, expected_count, nu.shape[1], potentials.alpha, plan)
        if swept.change <= options.tol:
            break
    return entropy


@kernel()
def _add_sums(
    x: Array,
    feature_row: Ints,
    nu: Array,
    expected_count: Floats,
    factor: Ints,
    graph: Neighbours,
    coupling: float,
    n_exclusive: int,
    work: Workspace,
    total: SummaryStatistics,
) -> float:
    """Add the photo's terms of C, of sum_i n_ik n_il / N_i and of Y = nu X to `total`; return its agreement."""
    _add_pairs(np.dot(nu, nu.T), expected_count, factor, n_exclusive, total.pair)
    _add_photo_pairs(expected_count, nu.shape[1], factor, total.photo_pair)
    cross = work.cross[: len(factor)]
    np.dot(_order_by_row(nu, feature_row), x, cross)
    _add_rows(cross, factor, total.cross)
    if coupling == 0.0:
        return 0.0
    return spatial_agreement(np.ascontiguousarray(nu.T), graph.start, graph.region, graph.weight)


@kernel()
def _workspace(first: int, last: int, layout: Layout, mean: Array) -> Workspace:
    most = 0
    for i in range(first, last):
        most = max(most, layout.slot_start[i + 1] - layout.slot_start[i])
    D = mean.shape[1]
    return Workspace(np.empty((most, D), mean.dtype), np.empty_like(mean), np.empty_like(mean))


@kernel()
def _photo_graph(layout: Layout, i: int, nu: Array) -> Neighbours:
    s0, s1 = layout.slot_start[i], layout.slot_start[i + 1]
    e0, e1 = layout.neighbour_start[s0], layout.neighbour_start[s1]
    return Neighbours(
        layout.class_start[layout.colour_start[i] : layout.colour_start[i + 1] + 1] - s0,
        layout.neighbour_start[s0 : s1 + 1] - e0,
        layout.neighbour[e0:e1],
        layout.weight[e0:e1].astype(nu.dtype),
    )


@kernel()
def _photo_centred_field(R: Array, factor: Ints, nu: Array) -> CentredField:
    if len(R) == 0:
        return CentredField(np.zeros(len(factor), nu.dtype), R)
    n_regions = nu.dtype.type(max(nu.shape[1], 1))
    pair_coupling = _gather_pairs(R, factor) / n_regions
    expected_count = np.empty(len(factor))
    sum_rows(nu, expected_count)
    return CentredField(np.dot(pair_coupling, expected_count.astype(nu.dtype)), pair_coupling)


@kernel()
def _log_likelihood(x: Array, feature_row: Ints, factor: Ints, mean: Array, potentials: Potentials) -> Array:
    """Return (P_kj - (D Phi_k + |phi_k|^2) / 2) / sigma^2 of the allowed factors, (K_i, N_i) by slot."""
    product = np.dot(x, mean.T)
    value = np.empty((len(factor), len(feature_row)), x.dtype)
    precision = potentials.bias.dtype.type(potentials.precision)
    for k in range(len(factor)):
        bias = potentials.bias[factor[k]]
        for j in range(len(feature_row)):
            value[k, j] = precision * product[feature_row[j], k] + bias
    return value


@kernel()
def _order_by_row(nu: Array, feature_row: Ints) -> Array:
    """Return nu (K_i, N_i) with its columns in the order of the rows of `x` instead of slots."""
    out = np.empty_like(nu)
    for k in range(nu.shape[0]):
        for j in range(nu.shape[1]):
            out[k, feature_row[j]] = nu[k, j]
    return out


@kernel()
def index_allowed(factor: Ints, K: int) -> Ints:
    """Return `local_index` (K,): the place of each column in `factor` (K_i,); -1 for forbidden factors."""
    local_index = np.full(K, -1, np.int64)
    for k in range(len(factor)):
        local_index[factor[k]] = k
    return local_index


@kernel()
def _gather_rows(source: Array, rows: Ints, out: Array) -> None:
    for r in range(len(rows)):
        out[r] = source[rows[r]]


@kernel()
def _gather_pairs(source: Array, index: Ints) -> Array:
    out = np.empty((len(index), len(index)), source.dtype)
    for a in range(len(index)):
        for b in range(len(index)):
            out[a, b] = source[index[a], index[b]]
    return out


@kernel()
def _add_columns(matrix: Array, column: Floats, out: Array) -> None:
    for k in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[k, j] = matrix[k, j] + column[k]


@kernel(fastmath={"reassoc"})
def sum_rows(matrix: Array, out: Floats) -> None:
    """Fill `out` with the sum of each row."""
    for k in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[k, j]
        out[k] = total


@kernel()
def count_exclusive(plan: StickPlan, factor: Ints) -> int:
    """Return how many of the factors exclude each other; sweeps update those first."""
    count = 0
    for k in factor:
        if plan.exclusive[k]:
            count += 1
    return count


@kernel()
def _add_pairs(product: Array, expected_count: Floats, factor: Ints, n_exclusive: int, pair: Floats) -> None:
    """Add sum_j E[z_jk z_jl] to `pair`: nu nu^T, n_k on the diagonal, and 0 for two exclusive factors."""
    for a in range(len(factor)):
        for b in range(len(factor)):
            if a == b:
                pair[factor[a], factor[b]] += expected_count[a]
            elif a >= n_exclusive or b >= n_exclusive:
                pair[factor[a], factor[b]] += product[a, b]


@kernel()
def _add_photo_pairs(expected_count: Floats, n_regions: int, factor: Ints, photo_pair: Floats) -> None:
    for a in range(len(factor)):
        rate = expected_count[a] / max(n_regions, 1)
        for b in range(len(factor)):
            photo_pair[factor[a], factor[b]] += rate * expected_count[b]


@kernel()
def _add_rows(product: Array, factor: Ints, cross: Floats) -> None:
    for k in range(len(factor)):
        row = cross[factor[k]]
        for d in range(product.shape[1]):
            row[d] += product[k, d]
