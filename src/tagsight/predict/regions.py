"""The words of the regions of a photo."""

from typing import Any, NamedTuple

import numpy as np

from tagsight.predict.annotate import N_OBJECTS, Box
from tagsight.predict.probabilities import RegionLabels
from tagsight.regions import paint_regions, resize_map
from tagsight.types import Array, Floats

REGION_OBJECTS, REGION_ATTRIBUTES, REGION_FREE = 3, 6, 3  # maximum numbers of words per region


class FactorNames(NamedTuple):
    """The names of the factors in column order."""

    objects: tuple[str, ...]
    attributes: tuple[str, ...]
    free: tuple[str, ...]


class PhotoRegions(NamedTuple):
    """The regions of a photo and their probabilities."""

    size: tuple[int, int]  # (W, H) of the whole photo
    labels: Array  # (h, w) int32, at the scale of analysis
    boxes: Array  # (R, 4) in the whole photo
    probabilities: Floats  # (R, K); those of objects are `Prediction.presence_by_region`
    named: RegionLabels
    names: FactorNames


class RankedWord(NamedTuple):
    """A word, and the probability that it applies."""

    name: str
    score: float


class RegionDetails(NamedTuple):
    """One region, its most probable object, and its most probable words."""

    region: int
    box: Box
    object: str | None  # None: no object
    objects: tuple[RankedWord, ...]
    attributes: tuple[RankedWord, ...]
    discovered: tuple[RankedWord, ...]

    def to_json(self) -> dict[str, Any]:
        """The JSON value of the web API."""
        words = {
            kind: [word._asdict() for word in getattr(self, kind)] for kind in ("objects", "attributes", "discovered")
        }
        return {**self._asdict(), **words}


def describe_regions(photo: PhotoRegions) -> list[RegionDetails]:
    """The words of every region."""
    names = photo.names
    ends = np.cumsum([len(names.objects), len(names.attributes)])
    labels = photo.named.label
    details: list[RegionDetails] = []
    for region, (row, box) in enumerate(zip(photo.probabilities, photo.boxes.tolist(), strict=True)):
        objects, attributes, free = np.split(row, ends)
        ranked = rank_words(objects, names.objects, REGION_OBJECTS)
        details.append(
            RegionDetails(
                region,
                (box[0], box[1], box[2], box[3]),
                names.objects[labels[region] - 1] if labels[region] else None,
                ranked,
                rank_words(attributes, names.attributes, REGION_ATTRIBUTES),
                rank_words(free, names.free, REGION_FREE),
            )
        )
    return details


class ListedObject(NamedTuple):
    """An object of a photo, as `annotate_photo` lists it."""

    column: int  # among the objects, from 0
    name: str
    score: float  # probability that it is in the photo
    region: int  # where it is most probable


def list_objects(photo: PhotoRegions, n_objects: int = N_OBJECTS) -> list[ListedObject]:
    """The most probable objects of a photo, in the order and with the scores of `annotate_photo`.

    The highest probability of an object over the regions is the probability that it is in the photo
    (`Prediction.presence_by_region`).
    """
    objects = photo.probabilities[:, : len(photo.names.objects)]
    best = np.argsort(-objects.max(axis=0), kind="stable")[:n_objects]
    return [
        ListedObject(o, photo.names.objects[o], float(objects[:, o].max()), int(objects[:, o].argmax()))
        for o in best.tolist()
    ]


def rank_words(scores: Floats, names: tuple[str, ...], n: int) -> tuple[RankedWord, ...]:
    """The `n` most probable words, best first."""
    return tuple(RankedWord(names[k], float(scores[k])) for k in np.argsort(-scores, kind="stable")[:n])


def paint_objects(photo: PhotoRegions, *, threshold: float = 0.0) -> Array:
    """(H, W) uint8 labels, as in `segment_objects`."""
    values = photo.named.apply_threshold(threshold).astype(np.uint8)
    return resize_map(paint_regions(values, photo.labels), photo.size)
