"""Where the objects of a photo are, its tags known."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tagsight.classifiers.regions import Regions
from tagsight.classifiers.regression import Linear
from tagsight.classifiers.smoothing import measure_appearance_distance, smooth_scores
from tagsight.classifiers.weights import ClassifierWeights
from tagsight.types import Array, Floats

SURE = 40.0  # log-odds beyond this say no more
BINS = 256


class LocalisationClassifiers(NamedTuple):
    """Classifiers of photos by their tags, which score regions."""

    class_activation: Linear  # learned from the odds of regions; of vectors as they were described
    photo_classifier: Linear  # learned from the mean of regions; of strengths


class LocalisationScores(NamedTuple):
    """The tagged object that each region is most likely part of, if it is part of any; and the other way round."""

    score: Floats  # (N,) that it is part of any; -inf where the photo has no tag
    which: Array  # (N,) int32, 1.. objects
    best_regions: Array  # (M, 2) int32: the region where a tagged object scores best by itself, and the object, 1..


def score_localisation(
    regions: Regions, scorers: LocalisationClassifiers, log_odds: Array, objects: Array, weights: ClassifierWeights
) -> LocalisationScores:
    """Among the tags (I, K_o) of each region's photo, the object with most of the evidence, shared among kin.

    Activation and, as `log_odds` (N, K_o), the model tell objects from each other; with the cue added, they tell
    objects from background. (The cue alone does not know objects from each other where many are in most photos.)
    """
    n = len(regions.X)
    score, which, best_regions = np.empty(n), np.zeros(n, np.int32), list[tuple[int, int]]()
    photos = zip(regions.each_photo(), regions.photos, objects.astype(bool), strict=True)
    for (rows, area, strengths), photo, tagged in photos:
        model = weights.model * np.clip(log_odds[rows], -SURE, SURE)
        evidence = scorers.class_activation.score(photo.features.astype(np.float32)) + model
        both = np.hstack([evidence, evidence + scorers.photo_classifier.score(strengths)])
        apart, any_of = np.hsplit(
            smooth_scores(both, measure_appearance_distance(regions.X[rows]), area, weights.smoothing), 2
        )
        score[rows] = np.where(tagged, any_of, -np.inf).max(axis=1, initial=-np.inf)
        which[rows] = np.where(tagged, apart, -np.inf).argmax(axis=1) + 1
        best_regions += [(rows.start + int(evidence[:, o].argmax()), int(o) + 1) for o in np.flatnonzero(tagged)]
    return LocalisationScores(score, which, np.array(best_regions, np.int32).reshape(-1, 2))


def join_localisation(parts: Sequence[LocalisationScores]) -> LocalisationScores:
    """Candidates of one run of photos after the other, regions counted on."""
    first = np.cumsum([0, *(len(part.score) for part in parts)])
    counted = [
        part._replace(best_regions=part.best_regions + np.array([start, 0], np.int32))
        for part, start in zip(parts, first, strict=False)
    ]
    return LocalisationScores._make(np.concatenate(arrays) for arrays in zip(*counted, strict=True))


def assign_pseudo_labels(candidates: LocalisationScores, photo: Array, *, background: bool) -> Array:
    """(N,) 0 background, 1.. objects of regions in photos `photo` (N,).

    Where there is a background, a candidate on the low side of the cut that parts all scores best is nothing. A tagged
    object that has no region by then takes the one it claims: it is in the photo. (Of several that claim the same, the
    last.)
    """
    score, which, best_regions = candidates
    tagged = np.isfinite(score)
    if not tagged.any():
        return which * 0
    cut = otsu_threshold(score[tagged]) if background else -np.inf
    labels = np.where(score > cut, which, np.int32(0))
    rows, objects = best_regions.T
    n_labels = int(max(which.max(), objects.max())) + 1
    placed = np.unique(photo.astype(np.int64) * n_labels + labels)
    unplaced = ~np.isin(photo[rows].astype(np.int64) * n_labels + objects, placed)
    labels[rows[unplaced]] = objects[unplaced]
    return labels


def otsu_threshold(values: Floats) -> float:
    """The cut with the largest variance between the two sides (Otsu, 1979)."""
    count, edges = np.histogram(values, BINS)
    below = np.cumsum(count)[:-1]
    total = np.cumsum(count * (edges[:-1] + edges[1:]) / 2)
    above = len(values) - below
    apart = (total[-1] * below / len(values) - total[:-1]) ** 2 / np.maximum(below * above, 1)
    return float(edges[1 + np.argmax(apart)])
