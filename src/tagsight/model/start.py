"""Initialisation: named starts of nu, and the globals that follow from them.

Random numbers depend on a region's features and not on its position, so that neither the order of photos and regions
nor the number of shards changes a start. docs/explanation/model.md compares the starts.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from tagsight.model.global_step import SMALLEST_VARIANCE, fix_sparsity, global_step, mean_square
from tagsight.model.layout import Layout, Shard
from tagsight.model.local_step import photo_blocks
from tagsight.model.photo_step import count_exclusive, index_allowed, sum_rows
from tagsight.model.photo_sticks import update_photo_sticks
from tagsight.model.sampling import Sample, draw_rows, hash_rows, merge_samples, uniform
from tagsight.model.settings import Factors, Settings, StickPlan, plan_sticks
from tagsight.model.state import Appearance, Globals, Local, Scales, SummaryStatistics
from tagsight.runtime.blas import one_blas_thread
from tagsight.runtime.kernels import kernel
from tagsight.types import Array, Floats

KMEANS_SAMPLE = 8_000  # regions
RIDGE = 0.3  # of the regression of tags, in units of the mean variance of photo vectors
SLOPE = 2.0  # of the activation start: change of logit nu per standard deviation of the activation over photos
STICK_ROUNDS = 3

Fill = Callable[[Array], Array]  # features (n, D) -> nu (n, K)


def start_random(shards: Sequence[Shard], factors: Factors, seed: int) -> Fill:
    """Start every allowed nu uniformly in (0, 1)."""

    def fill(X: Array) -> Array:
        return uniform(hash_rows(X, np.arange(len(X))), factors.total, seed)

    return fill


def start_tags(shards: Sequence[Shard], factors: Factors, seed: int) -> Fill:
    """Start a photo's tags at 1/2 in all its regions, free factors uniformly in (0, 1)."""
    draw = start_random(shards, factors, seed)

    def fill(X: Array) -> Array:
        nu = draw(X)
        nu[:, : factors.tagged] = 0.5
        return nu

    return fill


def start_activation(shards: Sequence[Shard], factors: Factors, seed: int) -> Fill:
    """Start a photo's tags at a linear activation of its regions, free factors uniformly in (0, 1).

    nu_jk = expit(SLOPE (x_j - mu) W_k / s_k): W is the ridge regression of the tags of photos on their mean vectors, mu
    the mean of these, and s_k the standard deviation of (mean_i - mu) W_k over photos.
    """
    draw = start_random(shards, factors, seed)
    sums = _regress_tags(shards, factors)
    if sums is None:
        return start_tags(shards, factors, seed)
    weights, offset = sums

    def fill(X: Array) -> Array:
        nu = draw(X)
        nu[:, : factors.tagged] = expit(SLOPE * (X.astype(np.float64, copy=False) @ weights - offset))
        return nu

    return fill


def _regress_tags(shards: Sequence[Shard], factors: Factors) -> tuple[Floats, Floats] | None:
    """Return W / s (D, K_o + K_a) and mu W / s; None without tagged factors or variance between photos.

    Sums are taken block by block.
    """
    D = next(iter(shards)).features.shape[1] if len(shards) else 0
    square, cross = np.zeros((D, D)), np.zeros((D, factors.tagged))
    total, tagged, n_photos = np.zeros(D), np.zeros(factors.tagged), 0
    for X, layout, _ in shards:
        for photos in photo_blocks(layout):
            means, tags = _average_photos(X, layout, photos, factors.tagged)
            square += means.T @ means
            cross += means.T @ tags
            total += means.sum(axis=0)
            tagged += tags.sum(axis=0)
            n_photos += len(means)
    if not n_photos or not factors.tagged:
        return None
    mu = total / n_photos
    scatter = square - n_photos * np.outer(mu, mu)
    ridge = RIDGE * float(np.trace(scatter)) / D
    if ridge <= 0.0:  # one photo, or all the same
        return None
    weights = np.linalg.solve(scatter + ridge * np.eye(D), cross - np.outer(mu, tagged))
    std = np.sqrt(np.maximum(np.einsum("dk,de,ek->k", weights, scatter, weights) / n_photos, 0.0))
    weights = np.divide(weights, std, out=np.zeros_like(weights), where=std > 0)
    return weights, mu @ weights


def _average_photos(X: Array, layout: Layout, photos: range, n_tagged: int) -> tuple[Floats, Floats]:
    """Return mean vectors (n, D) and tags (n, n_tagged) of the photos that have regions."""
    means, tags = list[Floats](), list[Floats]()
    for i in photos:
        rows = layout.rows[layout.slot_start[i] : layout.slot_start[i + 1]]
        if not len(rows):
            continue
        allowed = layout.factor[layout.factor_start[i] : layout.factor_start[i + 1]]
        means.append(X[rows].mean(axis=0, dtype=np.float64))
        tags.append(np.isin(np.arange(n_tagged), allowed).astype(np.float64))
    return np.reshape(means, (len(means), X.shape[1])), np.reshape(tags, (len(tags), n_tagged))


def start_kmeans(shards: Sequence[Shard], factors: Factors, seed: int) -> Fill:
    """Start a photo's tags at 1/2 in all its regions, and the free factor of each region's k-means cluster at 1."""
    if factors.free == 0:
        return start_tags(shards, factors, seed)
    drawn = [draw_rows(X, layout.rows, KMEANS_SAMPLE, seed) for X, layout, _ in shards]
    samples = [Sample(keys, X[rows]) for (keys, rows), (X, _, _) in zip(drawn, shards, strict=True)]
    sample = merge_samples(samples, KMEANS_SAMPLE).rows
    centres = find_centres(sample, min(factors.free, len(sample)), random_state=seed)

    def fill(X: Array) -> Array:
        nu = np.full((len(X), factors.total), 0.5)
        nu[:, factors.tagged :] = 0.0
        nearest = np.argmin(np.sum(centres**2, axis=1) - 2.0 * X @ centres.T, axis=1)
        nu[np.arange(len(nu)), factors.tagged + nearest] = 1.0
        return nu

    return fill


def find_centres(rows: Array, n_clusters: int, **options: Any) -> Floats:
    """Return k-means centres (n_clusters, D) of `rows` (n, D), from scikit-learn's KMeans with `options`.

    KMeans is initialised once. Its threads add sums in the order in which they finish, so one thread is used.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(), one_blas_thread(), threadpool_limits(1, user_api="openmp"):
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters leave some unused
        return KMeans(n_clusters, n_init=1, **options).fit(rows).cluster_centers_


STARTS: dict[str, Callable[[Sequence[Shard], Factors, int], Fill]] = {
    "tags": start_tags,
    "activation": start_activation,
    "kmeans": start_kmeans,
    "random": start_random,
}
START = "tags"  # the default


def start_local(shard: Shard, fill: Fill, alpha: Floats, plan: StickPlan) -> Local:
    """Return the local posterior with nu from `fill` and sticks fitted to it.

    Exclusive factors that sum to more than one in a region are scaled to one.
    """
    X, layout, _ = shard
    K = len(plan.order)
    local = Local(
        assign=np.empty(int(layout.assign_start[-1]), X.dtype),
        sticks=np.ones((layout.n_photos, K, 2)),
        order=np.tile(plan.order, (layout.n_photos, 1)),
    )
    for photos in photo_blocks(layout):
        slots = slice(layout.slot_start[photos.start], layout.slot_start[photos.stop])
        nu = fill(np.ascontiguousarray(X[layout.rows[slots]]))
        _start_photos(photos.start, photos.stop, layout, nu, local, alpha, plan)
    return local


def blank_globals(settings: Settings, D: int) -> Globals:
    """Return the globals for the first summary: appearance 0, unit variances, M = 0."""
    K = settings.factors.total
    alpha = np.full(plan_sticks(settings).n_sequences, settings.sparsity or 1.0)
    return Globals(Appearance(np.zeros((K, D)), np.ones(K)), Scales(1.0, 1.0), fix_sparsity(alpha), np.zeros((K, K)))


def first_globals(summary: SummaryStatistics, blank: Globals, settings: Settings, affinity: Floats) -> Globals:
    """Return the globals after the first global step, which attributes all variance to noise; M is `affinity`."""
    variance = max(mean_square(summary), SMALLEST_VARIANCE)
    state = global_step(summary, blank._replace(scales=Scales(variance, variance)), settings)
    return state._replace(affinity=affinity)


@kernel()
def _make_exclusive(nu: Array, n_exclusive: int) -> None:
    """Scale the nu (K_i, N_i) of exclusive factors that sum to more than one in a region."""
    for j in range(nu.shape[1]):
        total = 0.0
        for k in range(n_exclusive):
            total += nu[k, j]
        for k in range(n_exclusive):
            nu[k, j] /= max(total, 1.0)


@kernel()
def _start_photos(
    first: int, last: int, layout: Layout, nu: Array, local: Local, alpha: Floats, plan: StickPlan
) -> None:
    offset = layout.slot_start[first]
    for i in range(first, last):
        s0, s1 = layout.slot_start[i], layout.slot_start[i + 1]
        factor = layout.factor[layout.factor_start[i] : layout.factor_start[i + 1]]
        block = local.assign[layout.assign_start[i] : layout.assign_start[i + 1]].reshape(len(factor), s1 - s0)
        for k in range(len(factor)):
            for j in range(s1 - s0):
                block[k, j] = nu[s0 - offset + j, factor[k]]
        _make_exclusive(block, count_exclusive(plan, factor))
        expected_count = np.empty(len(factor))
        sum_rows(block, expected_count)
        local_index = index_allowed(factor, len(plan.sequence))
        for _ in range(STICK_ROUNDS):
            update_photo_sticks(local.order[i], local.sticks[i], local_index, expected_count, s1 - s0, alpha, plan)
