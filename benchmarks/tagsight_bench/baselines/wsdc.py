"""WSDC: weakly supervised dual clustering, spectral and discriminative at once.

Liu, Liu, Zhang, Tang and Lu, "Weakly-supervised dual clustering for image semantic segmentation", CVPR 2013. Regions
get non-negative indicators F of labels that vary little between alike neighbours (spectral clustering), are predicted
linearly from features (discriminative clustering), and agree with the tags of photos. Minimised in turn over F and W:

    J = sum_{(j,m) neighbours} a_jm |F_j - F_m|^2 + |X W + b - F|^2 + RIDGE N |W|^2
        + TAGS sum_{i, tagged k} (1 - max_{j in i} F_jk)^2,        F >= 0,    F_jk = 0 where k is no tag of the photo.

W and b: ridge regression, in closed form. F: one projected step on a separable bound of J, with the maximum held at
the region that has it (for F <= 1 that bounds J from above too), so J never rises.

Departures from the article: (1) a cluster a label, so that its cluster-to-label matrix is the identity, and a
background label that every photo may have; (2) in place of orthogonal columns, rows of the objects' F add to one
together with background, and attributes, of which a region may have several, lie in [0, 1] in a clustering of their
own; (3) the graph joins touching regions, a_jm = SMOOTH * shared boundary * exp(-|x_j - x_m|^2 / mean); (4) |W|^2 in
place of its 2,1 norm. Without orthogonality mass drains into the background as turns go on, so their number is chosen
by cross-validation over the tags of photos, and columns get the article's unit length afterwards: new regions are
scored by (X W + b)_k / sqrt(mean_j F_jk), the length of a column of 0 and 1 up to sqrt(N), and painted with the
largest.
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
from tagsight_bench.baselines.choice import choose_setting
from tagsight_bench.baselines.pooled import learn_space, stack_bags, weigh_boxes
from tagsight_bench.evaluation.method import MethodPrediction, Tags

SMOOTH = 0.1
TAGS = 1.0
RIDGE = 1e-4
TURNS = (5, 10, 20)


class Problem(NamedTuple):
    """What one clustering is given."""

    bags: Bags
    graph: sparse.csr_array  # (N, N) a, symmetric
    allowed: Array  # (I, K) bool
    tagged: Array  # (I, K) bool, without background
    exclusive: bool  # rows add to one


class DualClustering:
    """WSDC (see `evaluation.method.Method`)."""

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Cluster the regions of all photos, objects and attributes apart."""
        truth = np.hstack(tags)
        self._n_objects = tags.objects.shape[1]
        self._space = learn_space(photos, seed=seed)
        bags = stack_bags(photos, self._space)
        graph = join_regions(photos, bags)

        def score(train: Ints, test: Ints, turns: float) -> Array:
            mine = bags.rows(train)
            own = Tags(tags.objects[train], tags.attributes[train])
            found = cluster_both(bags.take(train), graph[mine][:, mine], own, int(turns))
            rest = bags.take(test)
            return np.maximum.reduceat(found.score(rest.X)[:, 1:], rest.first[:-1])

        choice = choose_setting(score, truth, TURNS, seed=seed)
        self._scale = choice.scale
        self._labels = cluster_both(bags, graph, tags, int(choice.setting))
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Indicators of the regions; a region is painted with the largest, background among them."""
        seen = []
        for photo in photos:
            indicators = self._labels.score(stack_bags([photo], self._space).X)
            odds = self._scale.apply(indicators[:, 1:])
            objects, attributes = np.split(odds, [self._n_objects], axis=1)
            classes = indicators[:, : self._n_objects + 1]
            seen.append(MethodPrediction(objects.max(axis=0), objects, attributes, classes))
        return seen

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) of the mean of each box."""
        indicators = weigh_boxes(photo, boxes) @ self._labels.score(stack_bags([photo], self._space).X)
        return self._scale.apply(indicators[:, 1:])[:, self._n_objects :]


def cluster_both(bags: Bags, graph: sparse.csr_array, tags: Tags, turns: int) -> Linear:
    """The linear maps to background, objects and attributes, in that order, their columns at unit length."""
    nobody = np.zeros((len(tags.objects), 1), bool)
    objects, attributes = tags.objects > 0, tags.attributes > 0
    problems = (
        Problem(bags, graph, np.hstack([~nobody, objects]), np.hstack([nobody, objects]), True),
        Problem(bags, graph, attributes, attributes, False),
    )
    parts = []
    for problem in problems:
        found = cluster(problem, turns)
        length = np.sqrt(np.maximum(found.F.mean(axis=0), np.finfo(np.float32).tiny))
        parts.append(Linear(found.W.weights / length, found.W.offset / length))
    return Linear(*(np.concatenate(pair, axis=-1) for pair in zip(*parts, strict=True)))


class Clustered(NamedTuple):
    """A minimum of J."""

    W: Linear
    F: Array  # (N, K)
    objective: list[float]  # J / 2 after each turn


def cluster(problem: Problem, turns: int) -> Clustered:
    """Some turns from equal shares of all that is allowed."""
    bags = problem.bags
    allowed = problem.allowed[bags.groups]
    start = np.where(allowed, 1.0, 0.0)
    F = (start / start.sum(axis=1, keepdims=True) if problem.exclusive else 0.5 * start).astype(np.float32)
    regress = prepare_ridge(bags.X, RIDGE * len(bags.X))
    objective: list[float] = []
    W = regress(F)
    for _ in range(turns):
        check_stop()
        F = improve_indicators(problem, W.score(bags.X), F, allowed)
        W = regress(F)
        objective.append(measure_objective(problem, W, F))
    return Clustered(W, F, objective)


def prepare_ridge(X: Array, ridge: float) -> Callable[[Array], Linear]:
    """The map F -> argmin over W, b of |X W + b - F|^2 + ridge |W|^2."""
    mean = X.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred = X - mean
    factor = linalg.cho_factor(centred.T @ centred + np.float32(ridge) * np.eye(X.shape[1], dtype=np.float32))

    def regress(F: Array) -> Linear:
        W = linalg.cho_solve(factor, centred.T @ F)
        return Linear(W, F.mean(axis=0) - mean @ W)

    return regress


def improve_indicators(problem: Problem, predicted: Array, F: Array, allowed: Array) -> Array:
    """F <- P(F - gradient / bend), row by row; |F_j - F_m|^2 bends at most twice as much in each of the two."""
    degree = problem.graph.sum(axis=1)
    slope = degree[:, None] * F - problem.graph @ F + F - predicted
    bend = 2.0 * degree + 1.0
    place = strongest_regions(problem, F)
    photo, k = np.nonzero(problem.tagged)
    rows = place[photo, k]
    slope[rows, k] -= TAGS * (1.0 - F[rows, k])
    bend[np.unique(rows)] += TAGS
    moved = np.where(allowed, F - slope / bend[:, None], -np.inf)
    return (project_simplex(moved) if problem.exclusive else np.clip(moved, 0.0, 1.0)).astype(np.float32)


def strongest_regions(problem: Problem, F: Array) -> Ints:
    """(I, K) the row of each photo in which F_k is largest."""
    return np.array([a + F[a:b].argmax(axis=0) for a, b in pairwise(problem.bags.first)])


def project_simplex(V: Array) -> Array:
    """Nearest point, for each row, with entries >= 0 adding to one; -inf stays 0 (Held, Wolfe and Crowder, 1974)."""
    ranked = -np.sort(-V, axis=1)
    known = np.isfinite(ranked)
    excess = np.cumsum(np.where(known, ranked, 0.0), axis=1) - 1.0
    count = np.arange(1, V.shape[1] + 1)
    kept = np.sum(known & (ranked * count > excess), axis=1)
    level = excess[np.arange(len(V)), kept - 1] / kept
    return np.maximum(V - level[:, None], 0.0)


def measure_objective(problem: Problem, W: Linear, F: Array) -> float:
    """J / 2, whose gradient `improve_indicators` follows."""
    degree = problem.graph.sum(axis=1)
    doubles = F.astype(np.float64)
    smooth = np.sum(doubles * (degree[:, None] * doubles - problem.graph @ doubles))
    fit = np.sum((W.score(problem.bags.X) - doubles) ** 2) + RIDGE * len(F) * np.sum(W.weights.astype(np.float64) ** 2)
    highest = np.maximum.reduceat(doubles, problem.bags.first[:-1])
    missing = np.sum((1.0 - highest[problem.tagged]) ** 2)
    return 0.5 * float(smooth + fit + TAGS * missing)


def join_regions(photos: Sequence[PhotoFeatures], bags: Bags) -> sparse.csr_array:
    """The graph of touching regions of all photos."""
    pairs = np.concatenate(
        [photo.edges.astype(np.int64) + start for photo, start in zip(photos, bags.first[:-1], strict=True)]
    )
    length = np.concatenate([photo.edge_weights for photo in photos])
    a, b = pairs.T
    distance = np.sum((bags.X[a] - bags.X[b]) ** 2, axis=1)
    typical = float(distance.mean()) if len(distance) else 1.0
    alike = (SMOOTH * length * np.exp(-distance / max(typical, 1e-12))).astype(np.float32)
    size = (len(bags.X),) * 2
    return sparse.csr_array(
        (np.concatenate([alike, alike]), (np.concatenate([a, b]), np.concatenate([b, a]))), shape=size
    )
