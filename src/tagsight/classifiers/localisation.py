"""Localisation: which regions of training photos show the tagged objects.

Two classifiers trained on the tags of photos score regions: the class activation maps (`bags`) and a photo classifier.
With the model's log-odds they give pseudo-labels of regions, which train the region classifiers (`fit`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tagsight.classifiers.regions import EmbeddedRegions
from tagsight.classifiers.regression import Linear, Scaling, fit_logistic
from tagsight.classifiers.rows import BlockedRows, compute_mean_std
from tagsight.classifiers.score import ClassifierWeights
from tagsight.classifiers.smoothing import compute_appearance_distance, smooth_scores
from tagsight.types import Array, Floats

PHOTO_CLASSIFIER_C = 1.0  # inverse regularisation of the photo classifier, on features of unit scale
MAX_MODEL_LOG_ODDS = 40.0  # larger log-odds of the model are clipped
BINS = 256


class LocalisationClassifiers(NamedTuple):
    """Classifiers of photos by their tags, which also score regions."""

    class_activation: Linear  # feature vector of a region -> scores of objects
    photo_classifier: Linear  # scaled features of a region, or their mean over a photo -> scores of objects


class LocalisationScores(NamedTuple):
    """For each region the most likely of its photo's tagged objects; for each tagged object its best region."""

    score: Floats  # (N,) that the region shows any of the tagged objects; -inf where the photo has no tag
    label: Array  # (N,) int32, the most likely tagged object, 1..
    best_regions: Array  # (M, 2) int32 pairs of a region and an object (1..), for each tagged object of each photo


def fit_photo_classifier(pooled: BlockedRows, targets: Array) -> Linear:
    """Logistic regression of `targets` (I, K) in [0, 1] on the mean scaled features `pooled` (I, D) of photos.

    Pooling is linear, so the classifier's score of a region is the region's contribution to the photo's score.
    """
    centre, deviation = compute_mean_std(pooled)
    scaling = Scaling(max(float(deviation.mean()), 1e-12), centre.astype(np.float32))
    return fit_logistic(pooled, targets, C=PHOTO_CLASSIFIER_C, scaling=scaling)


def score_localisation(
    regions: EmbeddedRegions,
    classifiers: LocalisationClassifiers,
    log_odds: Array,
    tags: Array,
    weights: ClassifierWeights,
) -> LocalisationScores:
    """Smoothed scores of the tagged objects `tags` (I, K_o), from classifiers and the model's `log_odds` (N, K_o).

    Class activation and the model decide between objects. Together with the photo classifier they decide between
    object and background. The photo classifier alone confuses objects that are often in the same photos.
    """
    n = len(regions.X)
    score, label, best_regions = np.empty(n), np.zeros(n, np.int32), list[tuple[int, int]]()
    photos = zip(regions.iterate_photos(), regions.photos, tags.astype(bool), strict=True)
    for (rows, area, scaled_features), photo, tagged in photos:
        model = weights.model * np.clip(log_odds[rows], -MAX_MODEL_LOG_ODDS, MAX_MODEL_LOG_ODDS)
        evidence = classifiers.class_activation.score(photo.features.astype(np.float32)) + model
        both = np.hstack([evidence, evidence + classifiers.photo_classifier.score(scaled_features)])
        between_objects, against_background = np.hsplit(
            smooth_scores(both, compute_appearance_distance(regions.X[rows]), area, weights.smoothing), 2
        )
        score[rows] = np.where(tagged, against_background, -np.inf).max(axis=1, initial=-np.inf)
        label[rows] = np.where(tagged, between_objects, -np.inf).argmax(axis=1) + 1
        best_regions += [(rows.start + int(evidence[:, o].argmax()), int(o) + 1) for o in np.flatnonzero(tagged)]
    return LocalisationScores(score, label, np.array(best_regions, np.int32).reshape(-1, 2))


def join_localisation(batches: Sequence[LocalisationScores]) -> LocalisationScores:
    """The scores of consecutive batches of photos as one record."""
    first = np.cumsum([0, *(len(batch.score) for batch in batches)])
    shifted = [
        batch._replace(best_regions=batch.best_regions + np.array([start, 0], np.int32))
        for batch, start in zip(batches, first, strict=False)
    ]
    return LocalisationScores._make(np.concatenate(arrays) for arrays in zip(*shifted, strict=True))


def assign_pseudo_labels(scores: LocalisationScores, photo: Array, *, background: bool) -> Array:
    """(N,) pseudo-labels of regions in photos `photo` (N,): 0 background, 1.. objects.

    With a background class, regions that score below the foreground threshold (Otsu's) are background. A tagged object
    that is left without a region in its photo then gets its best region. (Where two objects have the same best region,
    the later one.)
    """
    tagged = np.isfinite(scores.score)
    if not tagged.any():
        return scores.label * 0
    threshold = find_otsu_threshold(scores.score[tagged]) if background else -np.inf
    labels = np.where(scores.score > threshold, scores.label, np.int32(0))
    rows, objects = scores.best_regions.T
    n_labels = int(max(scores.label.max(), objects.max())) + 1
    placed = np.unique(photo.astype(np.int64) * n_labels + labels)
    unplaced = ~np.isin(photo[rows].astype(np.int64) * n_labels + objects, placed)
    labels[rows[unplaced]] = objects[unplaced]
    return labels


def find_otsu_threshold(values: Floats) -> float:
    """The threshold with the largest variance between the two sides (Otsu, 1979)."""
    count, edges = np.histogram(values, BINS)
    below = np.cumsum(count)[:-1]
    total = np.cumsum(count * (edges[:-1] + edges[1:]) / 2)
    above = len(values) - below
    between = (total[-1] * below / len(values) - total[:-1]) ** 2 / np.maximum(below * above, 1)
    return float(edges[1 + np.argmax(between)])
