"""What the protocols ask of a method, ours or a rival's: learn from tags, then score regions.

All scores are log-odds, comparable over photos: higher is surer, 0 is even. A conjunction is scored by the product of
the probabilities they stand for.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from tagsight.data.vocabulary import Tags
from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array, Floats, Ints


class MethodPrediction(NamedTuple):
    """What a method says of one photo with unknown tags."""

    photo: Floats  # (K_o,) the object is in the photo
    objects: Floats  # (R, K_o) the object is in the region
    attributes: Floats  # (R, K_a) the attribute is in the region
    classes: Floats  # (R, 1 + K_o) what an outline compares, on any one scale: background and the objects
    attributes_by_object: Floats | None = (
        None  # (K_o, K_a) each object has the attribute; None: as its clearest region has
    )

    @property
    def outline(self) -> Ints:
        """(R,) 0 background, 1.. objects: what a segmentation paints."""
        return self.classes.argmax(axis=1)

    @property
    def found(self) -> Floats:
        """(R, K_o) log-probability that the object is in the photo, and here as clearly as in any of its regions.

        log P_o + log p_jo - max_m log p_mo: what the photo says, in proportion to what the region says.
        """
        log_photo, log_region = -np.logaddexp(0.0, -self.photo), -np.logaddexp(0.0, -self.objects)
        return log_photo + log_region - np.maximum(log_region.max(axis=0), np.finfo(np.float64).min)

    def describe(self, o: int) -> Floats:
        """(K_a,) what object `o` is like, told that it is there."""
        return (
            self.attributes[np.argmax(self.objects[:, o])]
            if self.attributes_by_object is None
            else self.attributes_by_object[o]
        )


def put_background_at_zero(scores: Floats) -> Floats:
    """(R, 1 + K_o) classes of a method that paints the objects (R, K_o) where they score above 0."""
    return np.hstack([np.zeros((len(scores), 1)), scores])


class Method(Protocol):
    """A way to learn nouns and adjectives; all get the same regions and the same features."""

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Learn from photos and their tags."""
        ...

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Scores for new photos."""
        ...

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) log-odds of the attributes of what is in each box (B, 4) of the whole photo."""
        ...


@runtime_checkable
class TransductiveMethod(Method, Protocol):
    """A method that can learn from new photos too, though they have no tags."""

    def predict_transductive(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Scores for new photos after learning also from them; the method itself stays as it is."""
        ...


@runtime_checkable
class GuidedMethod(Method, Protocol):
    """A method that can be told which tags a new photo may have."""

    def predict_within(self, photos: Sequence[PhotoFeatures], allowed: Tags) -> list[MethodPrediction]:
        """Scores for new photos that show nothing but their allowed tags."""
        ...
