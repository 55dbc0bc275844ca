"""One photo of an index with all that is stored of it, and the photos in their order."""

from typing import NamedTuple

import cv2
import numpy as np

from tagsight.index.labels import decode_labels
from tagsight.index.query import Query
from tagsight.index.schema import decode_named, to_probabilities
from tagsight.index.search import describe_photos
from tagsight.index.similar import read_photo_levels
from tagsight.index.snapshot import Snapshot, UnknownPhotoError
from tagsight.regions import paint_regions
from tagsight.tasks.regions import FactorNames, PhotoRegions
from tagsight.types import Array

NEARLY = 0.5  # of the best region's score, for regions beside it


class ListedPhoto(NamedTuple):
    """A photo by number."""

    photo: int
    path: str  # relative to the collection's root
    size: tuple[int, int]  # (W, H)


class StoredPhoto(NamedTuple):
    """All that the index knows of a photo."""

    photo: int
    path: str  # relative to the collection's root
    regions: PhotoRegions  # discovered factors by the names people gave them


class FoundAreas(NamedTuple):
    """Where in a photo the things of a query are."""

    size: tuple[int, int]  # (W, H) of the whole photo
    areas: tuple[Array, ...]  # of each thing, (h, w) of bool at the scale of analysis


def list_photos(snapshot: Snapshot, start: int, n: int) -> list[ListedPhoto]:
    """`n` photos from the `start`-th on, in order of their numbers."""
    numbers = np.sort(snapshot.photos)[start : start + n]
    rows = describe_photos(snapshot, numbers)
    return [ListedPhoto(photo, rows[photo].path, rows[photo].size) for photo in numbers.tolist()]


def look_up(snapshot: Snapshot, photo: int) -> StoredPhoto:
    """One photo of the index."""
    if photo not in snapshot.photos:
        raise UnknownPhotoError(f"photo {photo} is not in the index {str(snapshot.folder)!r} (any more)")
    number = np.array([photo])
    row = describe_photos(snapshot, number)[photo]
    levels, boxes = read_photo_levels(snapshot, photo)
    ((labels, named),) = snapshot.read_photos(["labels", "named"], number)
    regions = PhotoRegions(
        row.size,
        decode_labels(labels),
        boxes,
        to_probabilities(levels),
        decode_named(named),
        list_names(snapshot),
    )
    return StoredPhoto(photo, row.path, regions)


def find_areas(snapshot: Snapshot, photo: int, query: Query) -> FoundAreas:
    """Where each thing of a query is: its best region, and those joined to it that score at least half as much."""
    regions = look_up(snapshot, photo).regions
    areas: list[Array] = []
    for thing in query.things:
        scores = regions.probabilities[:, list(thing)].prod(axis=1)
        best = int(scores.argmax())
        fits = paint_regions(scores >= NEARLY * scores[best], regions.labels)
        _, pieces = cv2.connectedComponents(fits.astype(np.uint8), connectivity=4)
        areas.append(np.isin(pieces, np.unique(pieces[regions.labels == best])))
    return FoundAreas(regions.size, tuple(areas))


def list_names(snapshot: Snapshot) -> FactorNames:
    """The words of the columns, as they are shown."""
    shown, manifest = snapshot.words.shown, snapshot.manifest
    objects, tagged = len(manifest.objects), len(manifest.objects) + len(manifest.attributes)
    return FactorNames(shown[:objects], shown[objects:tagged], shown[tagged:])
