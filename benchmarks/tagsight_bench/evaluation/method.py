"""The interface of a benchmark method: fit to tagged photos, then score regions of new photos.

All scores are log-odds and comparable across photos. A conjunction is scored by the product of the probabilities.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from tagsight.data.vocabulary import Tags
from tagsight.features.photo_features import PhotoFeatures
from tagsight.types import Array, Floats, Ints


class MethodPrediction(NamedTuple):
    """A method's prediction for one photo without tags."""

    photo: Floats  # (K_o,) log-odds that the object is in the photo
    objects: Floats  # (R, K_o) log-odds that the object is in the region
    attributes: Floats  # (R, K_a) log-odds that the attribute is in the region
    classes: Floats  # (R, 1 + K_o) scores of background and objects for the segmentation, on any common scale
    attributes_by_object: Floats | None = None  # (K_o, K_a) log-odds; None: those of the object's best region

    @property
    def labels(self) -> Ints:
        """(R,) segmentation labels: 0 background, 1.. objects."""
        return self.classes.argmax(axis=1)

    @property
    def log_joint(self) -> Floats:
        """(R, K_o) log P_o + log p_jo - max_m log p_mo.

        It distributes the photo's probability P_o over regions: the best region of the object gets all of it.
        """
        log_photo, log_region = -np.logaddexp(0.0, -self.photo), -np.logaddexp(0.0, -self.objects)
        return log_photo + log_region - np.maximum(log_region.max(axis=0), np.finfo(np.float64).min)

    def describe(self, o: int) -> Floats:
        """(K_a,) log-odds of the attributes of object `o`, given that it is in the photo."""
        return (
            self.attributes[np.argmax(self.objects[:, o])]
            if self.attributes_by_object is None
            else self.attributes_by_object[o]
        )


def add_zero_background(scores: Floats) -> Floats:
    """(R, 1 + K_o) class scores of a method whose background scores 0, from object scores (R, K_o)."""
    return np.hstack([np.zeros((len(scores), 1)), scores])


class Method(Protocol):
    """A method that learns objects and attributes from tags; all methods get the same regions and features."""

    def fit(self, photos: Sequence[PhotoFeatures], tags: Tags, *, seed: int = 0) -> Self:
        """Fit to photos and their tags."""
        ...

    def predict(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Predictions for new photos."""
        ...

    def describe_boxes(self, photo: PhotoFeatures, boxes: Array) -> Floats:
        """(B, K_a) log-odds of the attributes of the object in each box (B, 4), in pixels of the full-size photo."""
        ...


@runtime_checkable
class TransductiveMethod(Method, Protocol):
    """A method that can adapt to new photos without their tags."""

    def predict_transductive(self, photos: Sequence[PhotoFeatures]) -> list[MethodPrediction]:
        """Predictions for new photos after adapting to them; the fitted method is unchanged."""
        ...


@runtime_checkable
class GuidedMethod(Method, Protocol):
    """A method that can be restricted to the allowed tags of new photos."""

    def predict_within(self, photos: Sequence[PhotoFeatures], allowed: Tags) -> list[MethodPrediction]:
        """Predictions for new photos in which only the allowed tags can occur."""
        ...
