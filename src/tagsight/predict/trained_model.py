"""A trained model: its predictor, and what is needed to extract features and to name the answers."""

from typing import NamedTuple

from tagsight.data.vocabulary import Vocabulary
from tagsight.features.extractor import ExtractorConfig
from tagsight.predict.predictor import Predictor


class ExampleCrop(NamedTuple):
    """A region of a training photo in which a factor is strongly on."""

    score: float
    jpeg: bytes  # its surroundings, the region outlined


class Training(NamedTuple):
    """How a model came about."""

    n_photos: int
    seed: int
    bound: tuple[float, ...]  # after each sweep
    version: str | None = None  # of tagsight; None: not recorded


class TrainedModel(NamedTuple):
    """What `tagsight train` makes."""

    vocabulary: Vocabulary
    extractor_config: ExtractorConfig
    n_regions: int
    predictor: Predictor
    example_crops: tuple[tuple[ExampleCrop, ...], ...]  # of each factor, strongest first
    training: Training

    @property
    def factor_names(self) -> tuple[str, ...]:
        """Names of the columns: objects, attributes, then free factors by number."""
        free = self.predictor.parts.learned.settings.factors.free
        return (*self.vocabulary.names, *(f"free-{k + 1}" for k in range(free)))
