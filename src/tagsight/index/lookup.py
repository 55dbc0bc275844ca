"""One photo of an index with all that is stored of it, and the photos in their order."""

from typing import NamedTuple

import cv2
import numpy as np

from tagsight.index.labels import decode_labels
from tagsight.index.query import Query
from tagsight.index.schema import BOX, PROBABILITY, name_regions, to_probabilities
from tagsight.index.search import multiply
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
    numbers = np.sort(snapshot.read(["photo"])["photo"].to_numpy())[start : start + n]
    if not len(numbers):
        return []
    rows = snapshot.read(["photo", "path", "width", "height"], photos=numbers).to_pylist()
    rows.sort(key=lambda row: row["photo"])
    return [ListedPhoto(row["photo"], row["path"], (row["width"], row["height"])) for row in rows]


def look_up(snapshot: Snapshot, photo: int) -> StoredPhoto:
    """One photo of the index."""
    columns = [name_regions(k) for k in range(len(snapshot.manifest.factor_names))]
    number = np.array([photo], np.uint32)
    rows = snapshot.read(["path", "width", "height", "boxes", *columns], photos=number).to_pylist()
    if not rows:
        raise UnknownPhotoError(f"photo {photo} is not in the index {str(snapshot.folder)!r} (any more)")
    (row,) = rows
    (labels,) = snapshot.read(["png"], photos=number, view="labels")["png"].to_pylist()
    levels = np.stack([np.frombuffer(row[column], PROBABILITY) for column in columns], axis=1)
    return StoredPhoto(
        photo,
        row["path"],
        PhotoRegions(
            (row["width"], row["height"]),
            decode_labels(labels),
            np.frombuffer(row["boxes"], BOX).reshape(-1, 4),
            to_probabilities(levels),
            list_names(snapshot),
        ),
    )


def find_areas(snapshot: Snapshot, photo: int, query: Query) -> FoundAreas:
    """Where each thing of a query is: its best region, and those joined to it that score at least half as much."""
    regions = look_up(snapshot, photo).regions
    areas: list[Array] = []
    for thing in query.things:
        scores = multiply([regions.probabilities[:, k] for k in thing])
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
