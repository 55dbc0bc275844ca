"""MIML: multi-instance multi-label boosting, photos being bags and regions instances.

MimlBoost of Zhou and Zhang, "Multi-instance multi-label learning with application to scene classification", NIPS
2006: each tag turns the bags into a two-class multi-instance problem, solved by MIBoosting (Xu and Frank, "Logistic
regression and boosting for labeled bags of instances", PAKDD 2004). With y_ik = +-1 for photo i and tag k, and all
regions of a photo having its label and an equal share of its weight W_ik, each round

    h_k = the weak learner with the least weighted error over regions,
    e_ik = share of the regions of i with h_k(x_j) != y_ik,
    c_k = argmin_c sum_i W_ik exp((2 e_ik - 1) c),        W_ik <- W_ik exp((2 e_ik - 1) c_k), normalised,

and F_k(x) = sum over rounds of c_k h_k(x) scores a region; a photo or box scores the mean of F over its regions.

Weak learners are decision stumps, sign * [x_d > t] with t at quantiles of the regions, and the constant. Since a
region's label and weight are those of its photo, the errors of all stumps for all tags are one matrix product with the
share of each photo's regions above each t. The article has one ensemble over pairs (region, tag) with an SVM as weak
learner; here c is computed for each tag separately, which is the same boosting with the tag as the learner's first
split.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from tagsight.classifiers.bags import Bags
from tagsight.features.photo_features import PhotoFeatures
from tagsight.runtime.interrupts import check_stop
from tagsight.types import Array, Floats, Ints
from tagsight_bench.baselines.model_selection import select_setting
from tagsight_bench.baselines.region_vectors import compute_box_shares, fit_projection, stack_bags
from tagsight_bench.evaluation.method import MethodPrediction, Tags, add_zero_background

LENGTH = 128  # of a projected vector
N_THRESHOLDS = 15  # of each dimension
ROUNDS = (50, 150)  # selected by cross-validation
NEWTON_STEPS = 12
MAX_COEFFICIENT = 3.0  # c of one round


class Ensemble(NamedTuple):
    """F_k(x) = sum_dt sides_dt,k [x_d > t_dt] + base_k: stumps with the same threshold are summed."""

    thresholds: Array  # (d, N_THRESHOLDS) t
    sides: Array  # (d * N_THRESHOLDS, K)
    base: Array  # (K,)

    def score(self, X: Array) -> Array:
        """(n, K) F of regions `X` (n, d)."""
        above = (X[:, :, None] > self.thresholds).reshape(len(X), -1)
        return above.astype(np.float32) @ self.sides + self.base


class MimlBoost:
    """MimlBoost with stumps (see `evaluation.method.Method`)."""

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Fit the ensemble; the number of rounds is selected by cross-validation over photos."""
        truth = np.hstack(tags)
        self._n_objects = tags.objects.shape[1]
        self._projection = fit_projection(photos, seed=seed, length=LENGTH)
        bags = stack_bags(photos, self._projection)
        thresholds = np.quantile(bags.X, np.arange(1, N_THRESHOLDS + 1) / (N_THRESHOLDS + 1), axis=0).T.astype(
            np.float32
        )
        above = compute_share_above(bags, thresholds)

        def score(train: Ints, test: Ints, rounds: float) -> Array:
            ensemble = boost(above[train], truth[train], thresholds, int(rounds))
            return above[test] @ ensemble.sides + ensemble.base

        choice = select_setting(score, truth, ROUNDS, seed=seed)
        self._scaling = choice.scaling
        self._ensemble = boost(above, truth, thresholds, int(choice.setting))
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """F of the regions; a region is labelled with its best object where that has F > 0."""
        predictions = []
        for photo in photos:
            scores = self._ensemble.score(stack_bags([photo], self._projection).X)
            objects, attributes = np.split(self._scaling.apply(scores), [self._n_objects], axis=1)
            object_scores = scores[:, : self._n_objects]
            of_photo = self._scaling.columns(0, self._n_objects).apply(object_scores.mean(axis=0))
            predictions.append(MethodPrediction(of_photo, objects, attributes, add_zero_background(object_scores)))
        return predictions

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) log-odds of the area-weighted mean F in each box."""
        scores = compute_box_shares(photo, boxes) @ self._ensemble.score(stack_bags([photo], self._projection).X)
        return self._scaling.apply(scores)[:, self._n_objects :]


def compute_share_above(bags: Bags, thresholds: Array) -> Array:
    """(I, d * N_THRESHOLDS) float32 share of each photo's regions above each threshold."""
    shares = [(X[:, :, None] > thresholds).mean(axis=0).ravel() for X in np.split(bags.X, bags.first[1:-1])]
    return np.array(shares, np.float32)


def boost(above: Array, truth: Array, thresholds: Array, rounds: int) -> Ensemble:
    """MIBoosting of all tags (I, K), from the shares above the thresholds (I, d * N_THRESHOLDS)."""
    n_photos, K = truth.shape
    y = np.where(truth > 0, 1.0, -1.0)
    log_weight = np.zeros((n_photos, K))
    sides, base = np.zeros((above.shape[1], K)), np.zeros(K)
    columns = np.arange(K)
    for _ in range(rounds):
        check_stop()
        weight = np.exp(log_weight - log_weight.max(axis=0))
        signed = y * weight / weight.sum(axis=0)
        # sum_i W y mean_j h for h = 2 [x > t] - 1 and for h = 1; its size is 1 - 2 (weighted error).
        total = signed.sum(axis=0)
        edge = 2.0 * (above.T @ signed.astype(np.float32)) - total
        best = np.abs(edge).argmax(axis=0)
        constant = np.abs(total) >= np.abs(edge[best, columns])
        sign = np.sign(np.where(constant, total, edge[best, columns]))
        mean_h = sign * np.where(constant, 1.0, 2.0 * above[:, best] - 1.0)
        margin = y * mean_h  # 1 - 2 e
        c = minimise_exponential(margin, log_weight)
        log_weight -= margin * c
        base += c * sign * np.where(constant, 1.0, -1.0)
        sides[best, columns] += np.where(constant, 0.0, 2.0 * c * sign)
    return Ensemble(thresholds, sides.astype(np.float32), base)


def minimise_exponential(margin: Floats, log_weight: Floats) -> Floats:
    """(K,) argmin over 0 <= c <= MAX_COEFFICIENT of sum_i W_ik exp(-margin_ik c), by bounded Newton steps."""
    c = np.zeros(margin.shape[1])
    for _ in range(NEWTON_STEPS):
        exponent = log_weight - margin * c
        terms = np.exp(exponent - exponent.max(axis=0))
        slope = np.sum(margin * terms, axis=0)
        curvature = np.sum(margin**2 * terms, axis=0)
        c = np.clip(c + slope / np.maximum(curvature, 1e-12), 0.0, MAX_COEFFICIENT)
    return c
