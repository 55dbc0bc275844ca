"""The record of a photo that is exported: its name, and its objects with masks of the size of the whole photo."""

import os
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tagsight.errors import InputError
from tagsight.features.photo_features import PhotoFeatures
from tagsight.predict.annotate import Attribute, Box, describe_region
from tagsight.predict.predictor import Prediction
from tagsight.predict.segment import label_regions
from tagsight.predict.trained_model import TrainedModel
from tagsight.regions import paint_regions, resize_map
from tagsight.types import Array

ATTRIBUTE_THRESHOLD = 0.5


class Instance(NamedTuple):
    """One object of a photo, with the score and the attributes of its most probable region."""

    name: str
    category: int  # index among the objects of the vocabulary
    score: float
    attributes: tuple[Attribute, ...]  # most probable first
    box: Box


class ExportedPhoto(NamedTuple):
    """An upright photo. Instances never share a pixel, so one map holds all masks."""

    path: Path
    name: str  # distinct relative path, with forward slashes
    size: tuple[int, int]  # (W, H)
    instances: tuple[Instance, ...]  # most probable first
    owner: Array  # (H, W) uint16: n for instances[n - 1], 0 for none

    def mask(self, n: int) -> Array:
        """(H, W) bool mask of instance `n`."""
        return self.owner == n + 1

    def crop(self, n: int) -> Array:
        """The mask of instance `n` inside its box."""
        x0, y0, x1, y1 = self.instances[n].box
        return self.owner[y0:y1, x0:x1] == n + 1


def record_photo(
    model: TrainedModel,
    photo: PhotoFeatures,
    prediction: Prediction,
    *,
    path: Path,
    name: str,
    threshold: float = 0.0,
    attribute_threshold: float = ATTRIBUTE_THRESHOLD,
    connected: bool = True,
) -> ExportedPhoto:
    """The record of a photo; an instance is a connected piece of an object, or all pieces if `connected` is false."""
    labels = label_regions(prediction.objects, threshold=threshold)
    piece = join_regions(photo, labels) if connected else labels
    n_attributes = prediction.attributes.shape[1]
    found: list[tuple[Instance, Array]] = []
    for p in np.unique(piece[labels > 0]):
        regions = (piece == p) & (labels > 0)
        category = int(labels[regions][0]) - 1
        details = describe_region(model, photo, prediction, category, n_attributes, attribute_threshold, regions)
        score = float(prediction.objects[regions, category].max())
        found.append((Instance(details.name, category, score, details.attributes, details.box), regions))
    found.sort(key=lambda pair: -pair[0].score)
    owners = np.zeros(len(labels), np.uint16)
    for n, (_, regions) in enumerate(found, start=1):
        owners[regions] = n
    owner = resize_map(paint_regions(owners, photo.labels), photo.size)
    instances = (one._replace(box=box) for (one, _), box in zip(found, list_boxes(owner), strict=True))
    return ExportedPhoto(path, name, photo.size, tuple(instances), owner)


def join_regions(photo: PhotoFeatures, labels: Array) -> Array:
    """(R,) a number for each region; connected regions with the same label have the same number."""
    one, other = photo.edges[labels[photo.edges[:, 0]] == labels[photo.edges[:, 1]]].T
    graph = coo_array((np.ones(len(one), bool), (one, other)), shape=(len(labels), len(labels)))
    return connected_components(graph, directed=False)[1]


def list_boxes(owner: Array) -> list[Box]:
    """Bounding boxes of the numbers 1.. of a map (H, W)."""
    return [(x.start, y.start, x.stop, y.stop) for y, x in ndimage.find_objects(owner)]


def find_root(images: Sequence[Path]) -> Path:
    """The deepest folder that contains all given photos and folders."""
    return Path(os.path.commonpath([os.path.abspath(image if image.is_dir() else image.parent) for image in images]))


def name_photo(path: Path, root: Path) -> str:
    """The path relative to `root`, with forward slashes."""
    name = PurePath(os.path.relpath(path, root)).as_posix()
    try:
        name.encode()
    except UnicodeEncodeError as problem:
        raise InputError("its name is not valid Unicode text, which the formats need; rename it") from problem
    return name
