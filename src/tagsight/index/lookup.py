"""The stored data of single photos of an index, and the list of its photos."""

from typing import NamedTuple

import cv2
import numpy as np

from tagsight.index.errors import UnknownPhotoError
from tagsight.index.part_file import decode_label_map
from tagsight.index.query import Query
from tagsight.index.search import Match, multiply
from tagsight.index.similar import read_photo_levels
from tagsight.index.snapshot import Snapshot
from tagsight.predict.probabilities import to_probabilities
from tagsight.predict.regions import FactorNames, PhotoRegions
from tagsight.regions import paint_regions
from tagsight.types import Array

MIN_RELATIVE_SCORE = 0.5  # of regions adjacent to the best region, to be part of its area


class ListedPhoto(NamedTuple):
    """A photo by number."""

    photo: int
    path: str  # relative to the collection's root
    size: tuple[int, int]  # (W, H)


class StoredPhoto(NamedTuple):
    """Everything that an index stores of a photo."""

    photo: int
    path: str  # relative to the collection's root
    regions: PhotoRegions  # discovered factors have the names that users gave them


class FoundAreas(NamedTuple):
    """The areas of a photo that fit the clauses of a query."""

    size: tuple[int, int]  # (W, H) of the whole photo
    matches: tuple[Match, ...]  # the best region of each clause, as in `search`
    areas: tuple[Array, ...]  # of each clause, (h, w) bool at the scale of analysis

    @property
    def score(self) -> float:
        """The photo's score, as `search` computes it."""
        score = 1.0
        for match in self.matches:
            score *= match.score
        return score


def list_photos(snapshot: Snapshot, start: int, n: int) -> list[ListedPhoto]:
    """`n` photos from the `start`-th on, in order of their numbers."""
    numbers = np.sort(snapshot.photos)[start : start + n]
    rows = snapshot.describe_photos(numbers)
    return [ListedPhoto(photo, rows[photo].path, rows[photo].size) for photo in numbers.tolist()]


def load_photo(snapshot: Snapshot, photo: int) -> StoredPhoto:
    """Everything that is stored of a photo, by number."""
    row = snapshot.describe_photos(np.array([photo])).get(photo)
    label_map, named = snapshot.read_label_map(photo), snapshot.read_named(photo)
    if row is None or label_map is None or named is None:
        raise UnknownPhotoError(photo)
    levels, boxes = read_photo_levels(snapshot, photo)
    regions = PhotoRegions(
        row.size, decode_label_map(label_map), boxes, to_probabilities(levels), named, list_names(snapshot)
    )
    return StoredPhoto(photo, row.path, regions)


def find_areas(snapshot: Snapshot, photo: int, query: Query) -> FoundAreas:
    """The area of each clause of a query: its best region, and joined regions that score at least half as much."""
    row, label_map = snapshot.describe_photos(np.array([photo])).get(photo), snapshot.read_label_map(photo)
    if row is None or label_map is None:
        raise UnknownPhotoError(photo)
    factors = sorted({k for clause in query.clauses for k in clause})
    columns = dict(zip(factors, snapshot.read_photo_levels(factors, photo).T, strict=True))
    labels = decode_label_map(label_map)
    matches: list[Match] = []
    areas: list[Array] = []
    for clause in query.clauses:
        scores = multiply([columns[k] for k in clause])
        best = int(scores.argmax())
        names = tuple(snapshot.words.shown[k] for k in clause)
        matches.append(Match(names, float(scores[best]), best, row.get_box(best)))
        fits = paint_regions(scores >= MIN_RELATIVE_SCORE * scores[best], labels)
        pieces = np.asarray(cv2.connectedComponents(fits.astype(np.uint8), connectivity=4)[1], np.int32)
        areas.append(np.isin(pieces, np.unique(pieces[labels == best])))
    return FoundAreas(row.size, tuple(matches), tuple(areas))


def list_names(snapshot: Snapshot) -> FactorNames:
    """The names of the factors as they are shown."""
    shown, manifest = snapshot.words.shown, snapshot.manifest
    objects, tagged = len(manifest.objects), len(manifest.objects) + len(manifest.attributes)
    return FactorNames(shown[:objects], shown[objects:tagged], shown[tagged:])
