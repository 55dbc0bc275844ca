"""Model selection by cross-validation over photos, and Platt scaling of the held-out scores.

Each photo, with the boxes or regions in it, is scored by a model fitted to other folds. The setting (such as a penalty)
with the highest mean average precision over tags is selected. To its scores s of each tag,
P(tag | s) = 1 / (1 + exp(-(a s + b))) is fitted (Platt, "Probabilistic outputs for support vector machines", 1999).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tagsight.classifiers.calibration import MAX_CALIBRATION_LOG_ODDS, fit_calibration
from tagsight.errors import InputError
from tagsight.types import Array, Floats, Ints
from tagsight_bench.evaluation.mask_measures import average_defined
from tagsight_bench.evaluation.ranking import average_precision, measure_columns

FOLDS = 3

Scorer = Callable[[Ints, Ints, float], Array]  # (train rows, test rows, setting) -> scores (n, K)


class PlattScaling(NamedTuple):
    """Log-odds a s + b of each tag. Where all photos or none have the tag, a is 0 and b the largest log-odds."""

    slope: Floats  # (K,)
    offset: Floats  # (K,)

    def apply(self, scores: Array) -> Floats:
        """Log-odds (..., K) of scores (..., K)."""
        return self.slope * scores + self.offset

    def columns(self, start: int, stop: int | None = None) -> "PlattScaling":
        """The scaling of the tags from `start` to `stop`."""
        return PlattScaling(self.slope[start:stop], self.offset[start:stop])


class Choice(NamedTuple):
    """The selected setting and the Platt scaling of its scores."""

    setting: float
    scaling: PlattScaling
    precision: tuple[float, ...]  # mean average precision of each setting


def select_setting(
    score: Scorer,
    truth: Array,
    settings: Sequence[float],
    *,
    seed: int,
    folds: int = FOLDS,
    photos: Ints | None = None,
) -> Choice:
    """Select the best of `settings`; among equals, the first.

    Rows of `truth` (N, K) are photos, or items in the photos `photos` (N,).
    """

    def score_held_out(setting: float) -> Floats:
        return cross_val_scores(
            lambda train, test: score(train, test, setting), truth, seed=seed, folds=folds, photos=photos
        )

    scores = [score_held_out(setting) for setting in settings]
    precision = tuple(compute_map(each, truth) for each in scores)
    best = int(np.argmax(precision))
    return Choice(settings[best], fit_platt_scaling(scores[best], truth), precision)


def cross_val_scores(
    score: Callable[[Ints, Ints], Array], truth: Array, *, seed: int, folds: int = FOLDS, photos: Ints | None = None
) -> Floats:
    """(N, K) scores of each row by a fit to other folds; `score(train, test)` fits and returns scores (n, K)."""
    photo = np.arange(len(truth)) if photos is None else photos
    n_photos = int(photo.max()) + 1
    if n_photos < 2:
        raise InputError("cross-validation needs at least two photos, got one; give more")
    fold = (np.random.default_rng(seed).permutation(n_photos) % min(folds, n_photos))[photo]
    scores = np.zeros(truth.shape)
    for number in range(fold.max() + 1):
        test = np.flatnonzero(fold == number)
        scores[test] = score(np.flatnonzero(fold != number), test)
    return scores


def fit_platt_scaling(scores: Array, truth: Array) -> PlattScaling:
    """Platt scaling of each tag from held-out scores (I, K)."""
    slope, offset = np.zeros(truth.shape[1]), np.zeros(truth.shape[1])
    for k, has in enumerate(truth.T):
        if 0 < has.sum() < len(has):
            found = fit_calibration(scores[:, k], has)
            slope[k], offset[k] = found.slope, found.offset
        else:
            offset[k] = MAX_CALIBRATION_LOG_ODDS if has.any() else -MAX_CALIBRATION_LOG_ODDS
    return PlattScaling(slope, offset)


def compute_map(scores: Array, truth: Array) -> float:
    """Mean average precision over tags; 0 where no photo has a tag."""
    return float(np.nan_to_num(average_defined(measure_columns(average_precision, scores, truth))))
