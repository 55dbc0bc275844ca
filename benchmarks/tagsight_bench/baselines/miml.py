"""MIML: multi-instance multi-label boosting, photos being bags and regions instances.

MimlBoost of Zhou and Zhang, "Multi-instance multi-label learning with application to scene classification", NIPS
2006: each tag turns the bags into a two-class multi-instance problem, solved by MIBoosting (Xu and Frank, "Logistic
regression and boosting for labeled bags of instances", PAKDD 2004). With y_ik = +-1 for photo i and tag k, and all
regions of a photo bearing its label and an equal share of its weight W_ik, each round

    h_k = the weak learner with the least weighted error over regions,
    e_ik = share of the regions of i with h_k(x_j) != y_ik,
    c_k = argmin_c sum_i W_ik exp((2 e_ik - 1) c),        W_ik <- W_ik exp((2 e_ik - 1) c_k), normalised,

and F_k(x) = sum over rounds of c_k h_k(x) scores a region; a photo or box scores the mean of F over its regions.

Weak learners are decision stumps, sign * [x_d > t] with t at quantiles of the regions, and the constant. Since a
region's label and weight are its photo's, the error of every stump for every tag is one matrix product with the
share of each photo's regions above each t, however many regions there are. The article has one ensemble over pairs
(region, tag) with an SVM as weak learner; here c is found for each tag apart, which is the same boosting with the tag
as the first split of the learner.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from tagsight.classifiers.bags import Bags
from tagsight.features.photo_features import PhotoFeatures
from tagsight.runtime.interrupts import check_stop
from tagsight.types import Array, Floats, Ints
from tagsight_bench.baselines.choice import choose_setting
from tagsight_bench.baselines.pooled import learn_space, stack_bags, weigh_boxes
from tagsight_bench.evaluation.method import MethodPrediction, Tags, put_background_at_zero

LENGTH = 128  # of a projected vector
CUTS = 15  # thresholds of each dimension
ROUNDS = (50, 150)  # cross-validation chooses
NEWTON_STEPS = 12
LARGEST = 3.0  # c of one round


class Ensemble(NamedTuple):
    """F_k(x) = sum_dt sides_dt,k [x_d > t_dt] + base_k: stumps of the same cut are added up."""

    cuts: Array  # (d, CUTS) t
    sides: Array  # (d * CUTS, K)
    base: Array  # (K,)

    def score(self, X: Array) -> Array:
        """(n, K) F of regions `X` (n, d)."""
        above = (X[:, :, None] > self.cuts).reshape(len(X), -1)
        return above.astype(np.float32) @ self.sides + self.base


class MimlBoost:
    """MimlBoost with stumps (see `evaluation.method.Method`)."""

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Boost; the number of rounds is chosen by cross-validation over photos."""
        truth = np.hstack(tags)
        self._n_objects = tags.objects.shape[1]
        self._space = learn_space(photos, seed=seed, length=LENGTH)
        bags = stack_bags(photos, self._space)
        cuts = np.quantile(bags.X, np.arange(1, CUTS + 1) / (CUTS + 1), axis=0).T.astype(np.float32)
        above = share_above(bags, cuts)

        def score(train: Ints, test: Ints, rounds: float) -> Array:
            ensemble = boost(above[train], truth[train], cuts, int(rounds))
            return above[test] @ ensemble.sides + ensemble.base

        choice = choose_setting(score, truth, ROUNDS, seed=seed)
        self._scale = choice.scale
        self._ensemble = boost(above, truth, cuts, int(choice.setting))
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """F of the regions; a region is painted with its strongest object where that has F > 0."""
        seen = []
        for photo in photos:
            scores = self._ensemble.score(stack_bags([photo], self._space).X)
            objects, attributes = np.split(self._scale.apply(scores), [self._n_objects], axis=1)
            found = scores[:, : self._n_objects]
            whole = self._scale.columns(0, self._n_objects).apply(found.mean(axis=0))
            seen.append(MethodPrediction(whole, objects, attributes, put_background_at_zero(found)))
        return seen

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) mean over the regions in each box, by area."""
        scores = weigh_boxes(photo, boxes) @ self._ensemble.score(stack_bags([photo], self._space).X)
        return self._scale.apply(scores)[:, self._n_objects :]


def share_above(bags: Bags, cuts: Array) -> Array:
    """(I, d * CUTS) float32 share of each photo's regions above each cut."""
    shares = [(own[:, :, None] > cuts).mean(axis=0).ravel() for own in np.split(bags.X, bags.first[1:-1])]
    return np.array(shares, np.float32)


def boost(above: Array, truth: Array, cuts: Array, rounds: int) -> Ensemble:
    """MIBoosting of every tag (I, K) from the shares above the cuts (I, d * CUTS)."""
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
    return Ensemble(cuts, sides.astype(np.float32), base)


def minimise_exponential(margin: Floats, log_weight: Floats) -> Floats:
    """(K,) argmin over 0 <= c <= LARGEST of sum_i W_ik exp(-margin_ik c), by Newton's steps within the bounds."""
    c = np.zeros(margin.shape[1])
    for _ in range(NEWTON_STEPS):
        exponent = log_weight - margin * c
        terms = np.exp(exponent - exponent.max(axis=0))
        slope = np.sum(margin * terms, axis=0)
        bend = np.sum(margin**2 * terms, axis=0)
        c = np.clip(c + slope / np.maximum(bend, 1e-12), 0.0, LARGEST)
    return c
