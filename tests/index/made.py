"""Small indexes of synthetic photos, and a brute-force search."""

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.index.manifest import Manifest, Part, write_manifest
from tagsight.index.names import read_names
from tagsight.index.part_file import IndexedPhoto, encode_label_map
from tagsight.index.parts import write_part
from tagsight.index.query import Query, make_words
from tagsight.index.snapshot import Snapshot
from tagsight.predict.probabilities import choose_labels, to_levels, to_probabilities
from tagsight.types import Array

OBJECTS = ("horse", "car", "pottedplant", "bus")
ATTRIBUTES = ("furry", "shiny", "horiz cyl", "foot/shoe")
N_FREE = 3
K = len(OBJECTS) + len(ATTRIBUTES) + N_FREE
NO_PARTS = Manifest(1, "/photos", "f" * 64, OBJECTS, ATTRIBUTES, N_FREE, 0, ())


class Found(NamedTuple):
    """The result of the brute-force search for a photo."""

    photo: int
    score: float
    regions: tuple[int, ...]


def make_photo(number: int, posterior: Array, *, path: str | None = None) -> IndexedPhoto:
    """A photo of 100 x 50 pixels cut into vertical stripes, one per region."""
    labels = np.repeat(np.arange(len(posterior)) * np.ones((5, 1), np.int64), 10, axis=1)
    edges = np.linspace(0, 100, len(posterior) + 1).astype(int)
    boxes = np.array([(a, 0, b, 50) for a, b in pairwise(edges)])
    name = f"{number:03}.jpg" if path is None else path
    named = choose_labels(posterior[:, : len(NO_PARTS.objects)])
    return IndexedPhoto(number, name, (100, 50), 1, 2, boxes, to_levels(posterior), encode_label_map(labels), named)


def draw_posteriors(seed: int, n_photos: int, *, steps: int = 0, n_factors: int = K) -> list[Array]:
    """Photos of one to seven regions; `steps` makes probabilities coarse, so that scores tie."""
    rng = np.random.default_rng(seed)
    drawn = [rng.beta(0.5, 1.0, (rng.integers(1, 8), n_factors)) for _ in range(n_photos)]
    return [np.round(one * steps) / steps for one in drawn] if steps else drawn


def put_photos(folder: Path, parts: list[list[IndexedPhoto]], manifest: Manifest = NO_PARTS) -> Manifest:
    """Write an index with the given parts."""
    written: list[Part] = [write_part(folder, photos) for photos in parts if photos]
    numbers = [photo.photo for photos in parts for photo in photos]
    whole = manifest._replace(parts=tuple(written), next_photo=max(numbers, default=-1) + 1)
    write_manifest(folder, whole)
    return whole


def put_posteriors(folder: Path, posteriors: list[Array], *, per_part: int = 7) -> Manifest:
    """Write an index of photos numbered in order."""
    photos = [make_photo(number, posterior) for number, posterior in enumerate(posteriors)]
    return put_photos(folder, [photos[i : i + per_part] for i in range(0, len(photos), per_part)])


def open_snapshot(folder: Path, manifest: Manifest) -> Snapshot:
    """One generation, without a handle."""
    return Snapshot(folder, manifest, make_words(manifest, read_names(folder, manifest)))


def search_slowly(
    posteriors: dict[int, Array], query: Query, *, top: int | None = None, threshold: float = 0.0
) -> list[Found]:
    """Score every region of every photo, at the precision in which probabilities are stored."""
    found: list[Found] = []
    for photo, posterior in posteriors.items():
        p = to_probabilities(to_levels(posterior))
        if any(p[:, k].max() >= 0.5 for k in query.without):
            continue
        score, regions = 1.0, []
        for clause in query.clauses:
            products = []
            for region in p:
                product = 1.0
                for k in clause:
                    product *= region[k]
                products.append(product)
            regions.append(products.index(max(products)))
            score *= max(products)
        if score >= threshold:
            found.append(Found(photo, score, tuple(regions)))
    return sorted(found, key=lambda one: (-one.score, one.photo))[:top]


def put_wide_index(folder: Path, *, n_photos: int = 2500, n_regions: int = 40) -> Manifest:
    """Write an index with a hundred factors: 20 MB of levels."""
    objects, attributes = tuple(f"object{k}" for k in range(20)), tuple(f"attribute{k}" for k in range(80))
    rng = np.random.default_rng(0)
    draw = rng.random((50, n_regions, len(objects) + len(attributes))) ** 4
    photos = [make_photo(number, draw[number % len(draw)]) for number in range(n_photos)]
    return put_photos(folder, [photos], NO_PARTS._replace(objects=objects, attributes=attributes, n_free=0))
