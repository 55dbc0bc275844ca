"""WSDC: weakly supervised dual clustering, spectral and discriminative at once.

Liu, Liu, Zhang, Tang and Lu, "Weakly-supervised dual clustering for image semantic segmentation", CVPR 2013. Regions
get non-negative label indicators F that are similar for similar neighbours (spectral clustering), are predicted
linearly from features (discriminative clustering), and agree with the tags of photos. The objective is minimised
alternately over F and W:

    J = sum_{(j,m) neighbours} a_jm |F_j - F_m|^2 + |X W + b - F|^2 + RIDGE N |W|^2
        + TAGS sum_{i, tagged k} (1 - max_{j in i} F_jk)^2,        F >= 0,    F_jk = 0 where k is no tag of the photo.

W and b: ridge regression, in closed form. F: one projected step on a separable upper bound of J, with the maximum fixed
at the region that attains it (an upper bound too, for F <= 1), so J never increases.

Differences from the article:

1. One cluster per label, so that its cluster-to-label matrix is the identity, and a background label allowed in every
   photo.
2. Instead of orthogonal columns, the rows of background and objects in F add to one. Attributes, of which a region may
   have several, are clustered separately with entries in [0, 1].
3. The graph joins touching regions, a_jm = SMOOTH * shared boundary * exp(-|x_j - x_m|^2 / mean).
4. |W|^2 instead of its 2,1 norm.

Without orthogonality the background grows with every iteration, so the number of iterations is selected by
cross-validation, and columns are scaled to the article's unit length afterwards: new regions are scored by
(X W + b)_k / sqrt(mean_j F_jk), the length of a 0-1 column up to sqrt(N), and labelled with the largest score.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from scipy import linalg, sparse

from tagsight.classifiers.bags import Bags
from tagsight.classifiers.regression import Linear
from tagsight.features.photo_features import PhotoFeatures
from tagsight.runtime.interrupts import check_stop
from tagsight.types import Array, Floats, Ints
from tagsight_bench.baselines.model_selection import select_setting
from tagsight_bench.baselines.region_vectors import compute_box_shares, fit_projection, stack_bags
from tagsight_bench.evaluation.method import MethodPrediction, Tags

SMOOTH = 0.1
TAGS = 1.0
RIDGE = 1e-4
ITERATIONS = (5, 10, 20)


class Problem(NamedTuple):
    """The input of one clustering."""

    bags: Bags
    graph: sparse.csr_array  # (N, N) a, symmetric
    allowed: Array  # (I, K) bool
    tagged: Array  # (I, K) bool, without background
    exclusive: bool  # rows add to one


class DualClustering:
    """WSDC (see `evaluation.method.Method`)."""

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Cluster the regions of all photos, objects and attributes separately."""
        truth = np.hstack(tags)
        self._n_objects = tags.objects.shape[1]
        self._projection = fit_projection(photos, seed=seed)
        bags = stack_bags(photos, self._projection)
        graph = build_region_graph(photos, bags)

        def score(train: Ints, test: Ints, n_iter: float) -> Array:
            rows = bags.rows(train)
            train_tags = Tags(tags.objects[train], tags.attributes[train])
            linear = cluster_both(bags.take(train), graph[rows][:, rows], train_tags, int(n_iter))
            test_bags = bags.take(test)
            return np.maximum.reduceat(linear.score(test_bags.X)[:, 1:], test_bags.first[:-1])

        choice = select_setting(score, truth, ITERATIONS, seed=seed)
        self._scaling = choice.scaling
        self._labels = cluster_both(bags, graph, tags, int(choice.setting))
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Indicators of the regions; a region's label is the largest, background included."""
        predictions = []
        for photo in photos:
            indicators = self._labels.score(stack_bags([photo], self._projection).X)
            odds = self._scaling.apply(indicators[:, 1:])
            objects, attributes = np.split(odds, [self._n_objects], axis=1)
            classes = indicators[:, : self._n_objects + 1]
            predictions.append(MethodPrediction(objects.max(axis=0), objects, attributes, classes))
        return predictions

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) log-odds of the mean indicators in each box."""
        indicators = compute_box_shares(photo, boxes) @ self._labels.score(stack_bags([photo], self._projection).X)
        return self._scaling.apply(indicators[:, 1:])[:, self._n_objects :]


def cluster_both(bags: Bags, graph: sparse.csr_array, tags: Tags, n_iter: int) -> Linear:
    """The linear maps to background, objects and attributes, in that order, scaled to columns of unit length."""
    none = np.zeros((len(tags.objects), 1), bool)
    objects, attributes = tags.objects > 0, tags.attributes > 0
    problems = (
        Problem(bags, graph, np.hstack([~none, objects]), np.hstack([none, objects]), True),
        Problem(bags, graph, attributes, attributes, False),
    )
    parts = []
    for problem in problems:
        clustered = cluster(problem, n_iter)
        length = np.sqrt(np.maximum(clustered.F.mean(axis=0), np.finfo(np.float32).tiny))
        parts.append(Linear(clustered.W.weights / length, clustered.W.offset / length))
    return Linear(*(np.concatenate(pair, axis=-1) for pair in zip(*parts, strict=True)))


class Clustered(NamedTuple):
    """The result of a clustering."""

    W: Linear
    F: Array  # (N, K)
    objective: list[float]  # J / 2 after each iteration


def cluster(problem: Problem, n_iter: int) -> Clustered:
    """Minimise J for `n_iter` iterations, from equal indicators of all allowed labels."""
    bags = problem.bags
    allowed = problem.allowed[bags.groups]
    start = np.where(allowed, 1.0, 0.0)
    F = (start / start.sum(axis=1, keepdims=True) if problem.exclusive else 0.5 * start).astype(np.float32)
    regress = make_ridge_solver(bags.X, RIDGE * len(bags.X))
    objective: list[float] = []
    W = regress(F)
    for _ in range(n_iter):
        check_stop()
        F = update_indicators(problem, W.score(bags.X), F, allowed)
        W = regress(F)
        objective.append(compute_objective(problem, W, F))
    return Clustered(W, F, objective)


def make_ridge_solver(X: Array, ridge: float) -> Callable[[Array], Linear]:
    """The map F -> argmin over W, b of |X W + b - F|^2 + ridge |W|^2."""
    mean = X.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred = X - mean
    factor = linalg.cho_factor(centred.T @ centred + np.float32(ridge) * np.eye(X.shape[1], dtype=np.float32))

    def regress(F: Array) -> Linear:
        W = linalg.cho_solve(factor, centred.T @ F)
        return Linear(W, F.mean(axis=0) - mean @ W)

    return regress


def update_indicators(problem: Problem, predicted: Array, F: Array, allowed: Array) -> Array:
    """F <- P(F - gradient / curvature); for each row, |F_j - F_m|^2 is bounded with twice its curvature."""
    degree = problem.graph.sum(axis=1)
    gradient = degree[:, None] * F - problem.graph @ F + F - predicted
    curvature = 2.0 * degree + 1.0
    best = find_best_regions(problem, F)
    photo, k = np.nonzero(problem.tagged)
    rows = best[photo, k]
    gradient[rows, k] -= TAGS * (1.0 - F[rows, k])
    curvature[np.unique(rows)] += TAGS
    moved = np.where(allowed, F - gradient / curvature[:, None], -np.inf)
    return (project_simplex(moved) if problem.exclusive else np.clip(moved, 0.0, 1.0)).astype(np.float32)


def find_best_regions(problem: Problem, F: Array) -> Ints:
    """(I, K) the row of each photo with the largest F_k."""
    return np.array([a + F[a:b].argmax(axis=0) for a, b in pairwise(problem.bags.first)])


def project_simplex(V: Array) -> Array:
    """Project rows to the simplex (entries >= 0 adding to one; -inf becomes 0; Held, Wolfe and Crowder, 1974)."""
    ranked = -np.sort(-V, axis=1)
    known = np.isfinite(ranked)
    excess = np.cumsum(np.where(known, ranked, 0.0), axis=1) - 1.0
    count = np.arange(1, V.shape[1] + 1)
    kept = np.sum(known & (ranked * count > excess), axis=1)
    level = excess[np.arange(len(V)), kept - 1] / kept
    return np.maximum(V - level[:, None], 0.0)


def compute_objective(problem: Problem, W: Linear, F: Array) -> float:
    """J / 2."""
    degree = problem.graph.sum(axis=1)
    doubles = F.astype(np.float64)
    smooth = np.sum(doubles * (degree[:, None] * doubles - problem.graph @ doubles))
    fit = np.sum((W.score(problem.bags.X) - doubles) ** 2) + RIDGE * len(F) * np.sum(W.weights.astype(np.float64) ** 2)
    highest = np.maximum.reduceat(doubles, problem.bags.first[:-1])
    missing = np.sum((1.0 - highest[problem.tagged]) ** 2)
    return 0.5 * float(smooth + fit + TAGS * missing)


def build_region_graph(photos: Sequence[PhotoFeatures], bags: Bags) -> sparse.csr_array:
    """(N, N) weights a of neighbouring regions in all photos."""
    pairs = np.concatenate(
        [photo.edges.astype(np.int64) + start for photo, start in zip(photos, bags.first[:-1], strict=True)]
    )
    length = np.concatenate([photo.edge_weights for photo in photos])
    a, b = pairs.T
    distance = np.sum((bags.X[a] - bags.X[b]) ** 2, axis=1)
    typical = float(distance.mean()) if len(distance) else 1.0
    similarity = (SMOOTH * length * np.exp(-distance / max(typical, 1e-12))).astype(np.float32)
    size = (len(bags.X),) * 2
    return sparse.csr_array(
        (np.concatenate([similarity, similarity]), (np.concatenate([a, b]), np.concatenate([b, a]))), shape=size
    )
