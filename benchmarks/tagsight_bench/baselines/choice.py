"""Choice of a setting, say a penalty, by cross-validation over photos; log-odds from the scores of photos left out.

Scores of a photo, or of boxes or regions in it, are taken from a model that has not seen it. The setting with the
highest mean average precision over tags is chosen, and on its scores s of each tag
P(tag | s) = 1 / (1 + exp(-(a s + b))) is fitted (Platt, "Probabilistic outputs for support vector machines", 1999).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tagsight.classifiers.calibration import MAX_LOG_ODDS, fit_calibration
from tagsight.demo.mask_measures import mean_defined
from tagsight.errors import InputError
from tagsight.types import Array, Floats, Ints
from tagsight_bench.evaluation.ranking import average_precision, measure_columns

FOLDS = 3

Scorer = Callable[[Ints, Ints, float], Array]  # fits to some rows with a setting, and scores others (n, K)


class Scale(NamedTuple):
    """Log-odds a s + b of each tag. Where all photos or none had it, a is 0 and b as sure as it gets."""

    slope: Floats  # (K,)
    offset: Floats  # (K,)

    def apply(self, scores: Array) -> Floats:
        """Log-odds (..., K) of scores (..., K)."""
        return self.slope * scores + self.offset

    def columns(self, start: int, stop: int | None = None) -> "Scale":
        """That of some of the tags."""
        return Scale(self.slope[start:stop], self.offset[start:stop])


class Choice(NamedTuple):
    """The setting chosen, and the scale of its scores."""

    setting: float
    scale: Scale
    precision: tuple[float, ...]  # mean average precision of each setting


def choose_setting(
    score: Scorer,
    truth: Array,
    settings: Sequence[float],
    *,
    seed: int,
    folds: int = FOLDS,
    photos: Ints | None = None,
) -> Choice:
    """Choose among `settings`; of several equally good, the first.

    Rows of `truth` (N, K) are photos, or lie in `photos` (N,).
    """

    def leave_out(setting: float) -> Floats:
        return score_left_out(
            lambda train, test: score(train, test, setting), truth, seed=seed, folds=folds, photos=photos
        )

    scores = [leave_out(setting) for setting in settings]
    precision = tuple(mean_precision(each, truth) for each in scores)
    best = int(np.argmax(precision))
    return Choice(settings[best], fit_scale(scores[best], truth), precision)


def score_left_out(
    score: Callable[[Ints, Ints], Array], truth: Array, *, seed: int, folds: int = FOLDS, photos: Ints | None = None
) -> Floats:
    """(N, K) scores of each row after a fit to those of other photos; `score(train, test)` fits and scores (n, K)."""
    photo = np.arange(len(truth)) if photos is None else photos
    n_photos = int(photo.max()) + 1
    if n_photos < 2:
        raise InputError("there is one photo to learn from, and none to compare with; give at least two")
    fold = (np.random.default_rng(seed).permutation(n_photos) % min(folds, n_photos))[photo]
    scores = np.zeros(truth.shape)
    for number in range(fold.max() + 1):
        test = np.flatnonzero(fold == number)
        scores[test] = score(np.flatnonzero(fold != number), test)
    return scores


def fit_scale(scores: Array, truth: Array) -> Scale:
    """Platt's map of each tag from the scores (I, K) of photos left out."""
    slope, offset = np.zeros(truth.shape[1]), np.zeros(truth.shape[1])
    for k, has in enumerate(truth.T):
        if 0 < has.sum() < len(has):
            found = fit_calibration(scores[:, k], has)
            slope[k], offset[k] = found.slope, found.offset
        else:
            offset[k] = MAX_LOG_ODDS if has.any() else -MAX_LOG_ODDS
    return Scale(slope, offset)


def mean_precision(scores: Array, truth: Array) -> float:
    """Mean over tags of average precision; 0 where no photo has any."""
    return float(np.nan_to_num(mean_defined(measure_columns(average_precision, scores, truth))))
