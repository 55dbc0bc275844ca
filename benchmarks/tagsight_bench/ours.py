"""Our model behind the face of the protocols."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.special import logit

from tagsight.classifiers import attributes as attribute_reader
from tagsight.classifiers.regions import Regions
from tagsight.classifiers.score import ClassifierWeights, score_regions
from tagsight.data.vocabulary import Tags
from tagsight.features.photo_features import PhotoFeatures
from tagsight.predict.object_attributes import describe_parts
from tagsight.predict.predictor import Prediction, Predictor, embed, infer_regions, predict_photos
from tagsight.predict.probabilities import add_background
from tagsight.runtime.interrupts import check_stop
from tagsight.training.fit import fit_photos
from tagsight.training.options import TrainOptions
from tagsight.types import Array, Floats
from tagsight_bench.baselines.region_vectors import compute_box_shares
from tagsight_bench.evaluation.method import MethodPrediction

BATCH = 64  # photos looked at together


class StackedIBPMethod:
    """What `tagsight train` makes; `parameters` are of `TrainOptions`.

    With `whole`, it describes an object by all of its regions; else, as the rivals do, by the one where it is clearest.
    """

    def __init__(self, *, whole: bool = True, **parameters: Any):
        self._whole = whole
        weights = ClassifierWeights(**parameters.pop("weights", {}))
        self._options = TrainOptions(**parameters, weights=weights)
        self._predictor: Predictor

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Learn from photos and their tags."""
        self._predictor = fit_photos(photos, tags, replace(self._options, seed=seed)).predictor
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Scores for new photos."""
        seen: list[MethodPrediction] = []
        for first in range(0, len(photos), BATCH):
            check_stop()
            seen += map(self._to_seen, predict_photos(self._predictor, photos[first : first + BATCH]))
        return seen

    def predict_within(self, photos: Sequence[PhotoFeatures], allowed: Tags) -> list[MethodPrediction]:
        """Scores for new photos that show nothing but their allowed tags."""
        seen: list[MethodPrediction] = []
        for first in range(0, len(photos), BATCH):
            check_stop()
            some = slice(first, first + BATCH)
            within = Tags(allowed.objects[some], allowed.attributes[some])
            seen += map(self._to_seen, predict_photos(self._predictor, photos[some], within))
        return seen

    def predict_transductive(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Scores for new photos after learning also from them."""
        return [self._to_seen(posterior) for posterior in predict_photos(self._predictor, photos, transductive=True)]

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a): what the reader or the objects say of a box; else the mean of its regions."""
        shares, predictor = compute_box_shares(photo, boxes), self._predictor
        if classifiers := predictor.parts.classifiers:
            X = embed(photo.features, predictor.embedding)
            scores = score_regions(Regions([photo], predictor.embedding.views, X), classifiers)
            return attribute_reader.describe_parts(classifiers.attributes, X, scores.shares, shares)
        if attributes := predictor.parts.object_attributes:
            stacked, seen = infer_regions(predictor, [photo])
            appearance = seen.appearance[: predictor.parts.learned.settings.factors.objects]
            described = describe_parts(
                attributes, predictor.calibration.attributes, appearance, stacked.X, seen.log_odds, shares
            )
            return _odds(described)
        (posterior,) = predict_photos(predictor, [photo])
        return shares @ _odds(posterior.attributes)

    def _to_seen(self, posterior: Prediction) -> MethodPrediction:
        return MethodPrediction(
            _odds(posterior.photo),
            _odds(posterior.objects),
            _odds(posterior.attributes),
            add_background(posterior.objects),
            _odds(posterior.attributes_by_object) if self._whole else None,
        )


def _odds(probability: Floats) -> Floats:
    return logit(np.clip(probability, 1e-300, 1 - 1e-12))  # finite, as the protocols ask
