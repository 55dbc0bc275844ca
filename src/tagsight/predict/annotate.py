"""The most probable objects of a photo, and the attributes of each."""

from typing import Any, NamedTuple

import numpy as np

from tagsight.data.vocabulary import normalise_tag
from tagsight.errors import InputError
from tagsight.features.photo_features import PhotoFeatures
from tagsight.predict.predictor import Prediction
from tagsight.predict.probabilities import LEVELS
from tagsight.predict.trained_model import TrainedModel
from tagsight.regions import find_boxes
from tagsight.types import Array, Floats

N_OBJECTS, N_ATTRIBUTES = 2, 5  # default numbers of objects per photo and attributes per object
Box = tuple[int, int, int, int]  # x0, y0, x1, y1 in the whole photo; the end is exclusive


class Attribute(NamedTuple):
    """An adjective, and the probability that it applies."""

    name: str
    score: float


class FoundObject(NamedTuple):
    """An object, the region where it is most probable, and its attributes."""

    name: str
    score: float
    region: int
    box: Box
    attributes: tuple[Attribute, ...]

    def to_json(self) -> dict[str, Any]:
        """The JSON value that `annotate --json` prints."""
        return {**self._asdict(), "attributes": [attribute._asdict() for attribute in self.attributes]}


def annotate_photo(
    model: TrainedModel,
    photo: PhotoFeatures,
    prediction: Prediction,
    *,
    n_objects: int = N_OBJECTS,
    n_attributes: int = N_ATTRIBUTES,
    threshold: float = 0.0,
) -> tuple[FoundObject, ...]:
    """The most probable objects, each with its most probable attributes.

    Probabilities that an index stores as equal are treated as equal, and the first object or region is taken, so that
    the pages of an index and the command give the same result.
    """
    best = np.argsort(-np.rint(prediction.photo * LEVELS), kind="stable")[:n_objects]
    found = [describe_region(model, photo, prediction, int(o), n_attributes, threshold) for o in best]
    return tuple(described for described in found if described.score >= threshold)


def describe_object(
    model: TrainedModel,
    photo: PhotoFeatures,
    prediction: Prediction,
    name: str,
    *,
    box: Box | None = None,
    n_attributes: int = N_ATTRIBUTES,
    threshold: float = 0.0,
) -> FoundObject:
    """A named object at its most probable region; with `box`, among the regions that are mostly inside the box.

    Names are compared after normalisation, as tags are: case and kinds of spaces make no difference.
    """
    o = find_object(model, name)
    allowed = None if box is None else select_regions(photo, box)
    return describe_region(model, photo, prediction, o, n_attributes, threshold, allowed)


def find_object(model: TrainedModel, name: str) -> int:
    """The index of an object of the model; InputError for any other name."""
    objects = {normalise_tag(word): o for o, word in enumerate(model.vocabulary.objects)}
    if normalise_tag(name) not in objects:
        known = ", ".join(model.vocabulary.objects) or "none"
        raise InputError(f"the model has no object {name!r}; its objects are {known}")
    return objects[normalise_tag(name)]


def describe_region(
    model: TrainedModel,
    photo: PhotoFeatures,
    prediction: Prediction,
    o: int,
    n_attributes: int,
    threshold: float,
    allowed: Array | None = None,
) -> FoundObject:
    """Object `o` at the region where it is most probable, and its attributes.

    The attributes are those of the object in the photo, or with `allowed` regions (R,) those of the region.
    """
    if allowed is None:
        region = find_best_region(prediction.presence_by_region[:, o])
        probabilities = prediction.attributes_by_object[o]
    else:
        region = find_best_region(np.where(allowed, prediction.presence_by_region[:, o], -1.0))
        probabilities = prediction.attributes[region]
    ranked = np.argsort(-probabilities, kind="stable")[:n_attributes]
    attributes = [Attribute(model.vocabulary.attributes[a], float(probabilities[a])) for a in ranked]
    return FoundObject(
        model.vocabulary.objects[o],
        float(prediction.photo[o]),
        region,
        scale_boxes(photo)[region],
        tuple(attribute for attribute in attributes if attribute.score >= threshold),
    )


def find_best_region(probabilities: Floats) -> int:
    """The region with the highest of `probabilities` (R,); the first of those that an index stores as equal."""
    return int(np.argmax(np.rint(probabilities * LEVELS)))


def select_regions(photo: PhotoFeatures, box: Box) -> Array:
    """(R,) whether at least half of each region is inside `box`; if none is, the region with the largest share."""
    x0, y0, x1, y1 = box
    width, height = photo.size
    if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height):
        raise InputError(f"box {x0},{y0},{x1},{y1} does not fit a photo of {width} x {height} pixels")
    h, w = map(int, photo.labels.shape)
    rows = (np.arange(h) + 0.5) * height / h
    columns = (np.arange(w) + 0.5) * width / w
    inside = ((rows >= y0) & (rows < y1))[:, None] & ((columns >= x0) & (columns < x1))
    share: Floats = np.bincount(photo.labels.ravel(), inside.ravel()) / np.bincount(photo.labels.ravel())
    return share >= min(0.5, float(share.max()))


def scale_boxes(photo: PhotoFeatures) -> list[Box]:
    """Bounding boxes of the regions, in pixels of the whole photo."""
    h, w = photo.labels.shape
    width, height = photo.size
    return [
        (x0 * width // w, y0 * height // h, -(-x1 * width // w), -(-y1 * height // h))
        for x0, y0, x1, y1 in find_boxes(photo.labels).tolist()
    ]
