"""A trained model, and the predictor that is opened from it."""

from collections.abc import Iterable
from threading import Lock
from typing import NamedTuple

from tagsight.data.photo import Photo
from tagsight.data.vocabulary import Tags, Vocabulary
from tagsight.features.extractor import ExtractorConfig, FeatureExtractor, open_extractor
from tagsight.features.photo_features import PhotoFeatures, extract_pixels
from tagsight.predict.predictor import Prediction, Predictor, predict_photos


class ExampleCrop(NamedTuple):
    """A picture of a training region with a high score of a factor."""

    score: float  # log-odds
    jpeg: bytes  # the region, outlined, and its surroundings


class Training(NamedTuple):
    """Facts about the training of a model."""

    n_photos: int
    seed: int
    bound: tuple[float, ...]  # after each sweep
    version: str | None = None  # of tagsight; None: not recorded


class TrainedModel(NamedTuple):
    """The result of a training: what a model file holds."""

    vocabulary: Vocabulary
    extractor_config: ExtractorConfig
    n_regions: int  # regions per photo
    predictor: Predictor
    example_crops: tuple[tuple[ExampleCrop, ...], ...]  # of each factor, strongest first
    training: Training

    @property
    def factor_names(self) -> tuple[str, ...]:
        """Names of the K factors: objects, attributes, then free factors by number."""
        free = self.predictor.parts.learned.settings.factors.free
        return (*self.vocabulary.names, *(f"free-{k + 1}" for k in range(free)))


class PredictedPhoto(NamedTuple):
    """The regions of a photo, and what the model predicts for each."""

    features: PhotoFeatures
    prediction: Prediction


class PhotoPredictor:
    """Predicts photos with a trained model; threads may share it."""

    def __init__(self, model: TrainedModel):
        self.model = model
        self._lock = Lock()
        self._extractor: FeatureExtractor | None = None

    def open_extractor(self) -> FeatureExtractor:
        """The model's feature extractor, opened at the first call; InputError if it is not available."""
        with self._lock:
            if self._extractor is None:
                self._extractor = open_extractor(self.model.extractor_config)
            return self._extractor

    def predict(self, photo: Photo) -> PredictedPhoto:
        """Extract the features of a photo and predict its regions."""
        (predicted,) = self.predict_all([photo])
        return predicted

    def predict_all(
        self, photos: Iterable[Photo], allowed: Tags | None = None, *, transductive: bool = False
    ) -> list[PredictedPhoto]:
        """As `predict`, for photos that are predicted together; arguments as in `predictor.predict_photos`."""
        extractor = self.open_extractor()
        features = [extract_pixels(photo, extractor, n_regions=self.model.n_regions) for photo in photos]
        if not features:
            return []
        predictions = predict_photos(self.model.predictor, features, allowed, transductive=transductive)
        return [PredictedPhoto(*pair) for pair in zip(features, predictions, strict=True)]
