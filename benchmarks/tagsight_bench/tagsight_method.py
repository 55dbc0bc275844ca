"""tagsight as a method of the benchmark."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.special import logit

from tagsight.classifiers import attributes as attribute_classifiers
from tagsight.classifiers.regions import EmbeddedRegions
from tagsight.classifiers.score import ClassifierWeights, score_regions
from tagsight.data.vocabulary import Tags
from tagsight.features.photo_features import PhotoFeatures
from tagsight.predict.predictor import Prediction, Predictor, describe_photo_parts, embed, predict_photos
from tagsight.predict.probabilities import add_background
from tagsight.runtime.interrupts import check_stop
from tagsight.training.fit import fit_photos
from tagsight.training.options import TrainOptions
from tagsight.types import Array, Floats
from tagsight_bench.baselines.region_vectors import compute_box_shares
from tagsight_bench.evaluation.method import MethodPrediction

BATCH = 64  # photos predicted together


class StackedIBPMethod:
    """The model of `tagsight train`; `parameters` are options of `TrainOptions`.

    With `whole`, an object is described by all its regions; otherwise by its most probable region, as other methods do.
    """

    def __init__(self, *, whole: bool = True, **parameters: Any):
        self._whole = whole
        weights = ClassifierWeights(**parameters.pop("weights", {}))
        self._options = TrainOptions(**parameters, weights=weights)
        self._predictor: Predictor

    @classmethod
    def from_predictor(cls, predictor: Predictor) -> Self:
        """The method with a predictor that is fitted already."""
        method = cls()
        method._predictor = predictor
        return method

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Fit to photos and their tags."""
        self._predictor = fit_photos(photos, tags, replace(self._options, seed=seed)).predictor
        return self

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Predictions for new photos."""
        predictions: list[MethodPrediction] = []
        for first in range(0, len(photos), BATCH):
            check_stop()
            predictions += map(self._convert, predict_photos(self._predictor, photos[first : first + BATCH]))
        return predictions

    def predict_within(self, photos: Sequence[PhotoFeatures], allowed: Tags) -> list[MethodPrediction]:
        """Predictions for new photos in which only the allowed tags can occur."""
        predictions: list[MethodPrediction] = []
        for first in range(0, len(photos), BATCH):
            check_stop()
            some = slice(first, first + BATCH)
            within = Tags(allowed.objects[some], allowed.attributes[some])
            predictions += map(self._convert, predict_photos(self._predictor, photos[some], within))
        return predictions

    def predict_transductive(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Predictions for new photos after adapting to them."""
        return [self._convert(posterior) for posterior in predict_photos(self._predictor, photos, transductive=True)]

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) log-odds by the region classifiers or the attributes of objects; otherwise means over regions."""
        shares, predictor = compute_box_shares(photo, boxes), self._predictor
        if classifiers := predictor.parts.classifiers:
            X = embed(photo.features, predictor.embedding)
            scores = score_regions(EmbeddedRegions([photo], predictor.embedding.views, X), classifiers)
            return attribute_classifiers.describe_parts(classifiers.attributes, X, scores.object_probability, shares)
        if predictor.parts.object_attributes:
            return _odds(describe_photo_parts(predictor, photo, shares))
        (posterior,) = predict_photos(predictor, [photo])
        return shares @ _odds(posterior.attributes)

    def _convert(self, posterior: Prediction) -> MethodPrediction:
        return MethodPrediction(
            _odds(posterior.photo),
            _odds(posterior.objects),
            _odds(posterior.attributes),
            add_background(posterior.objects),
            _odds(posterior.attributes_by_object) if self._whole else None,
        )


def _odds(probability: Floats) -> Floats:
    return logit(np.clip(probability, 1e-300, 1 - 1e-12))  # finite, as the protocols require
