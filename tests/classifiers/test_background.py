"""Background is detected where regions without a tag of their own are common."""

import numpy as np
import pytest

from tagsight.classifiers.background import compute_coverage, has_background_class
from tagsight.classifiers.rows import InMemoryRows
from tagsight.types import Array, Ints

APPEARANCES = np.eye(8, dtype=np.float32)
Sample = tuple[InMemoryRows, Ints, Array, Array]


def draw_photos(*, named: int, n_photos: int = 60, always: bool = False) -> Sample:
    """Photos of 12 regions with three of six appearances; the first `named` appearances have a tag of their own."""
    rng = np.random.default_rng(0)
    tags = np.zeros((n_photos, named + always), np.uint8)
    X = []
    for i in range(n_photos):
        shown = rng.permutation(6)[:3]
        X.append(APPEARANCES[rng.permutation(np.repeat(shown, 4))] + rng.normal(0, 0.05, (12, 8)))
        tags[i, shown[shown < named]] = 1
    tags[:, named:] = 1
    vectors = np.concatenate(X)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return InMemoryRows(vectors), np.repeat(np.arange(n_photos), 12), np.full(len(vectors), 1 / 12), tags


def test_there_is_no_background_where_every_appearance_has_a_tag() -> None:
    sample = draw_photos(named=6)
    assert compute_coverage(*sample) == pytest.approx(1.0, abs=0.02)
    assert not has_background_class(*sample)


def test_appearances_without_a_tag_are_background() -> None:
    assert 0.0 < compute_coverage(*draw_photos(named=2)) < 0.45
    assert has_background_class(*draw_photos(named=2))


def test_a_tag_that_all_photos_have_counts_for_nothing() -> None:
    assert compute_coverage(*draw_photos(named=0, always=True)) == 0.0
    assert has_background_class(*draw_photos(named=0, always=True))


def test_regions_count_in_proportion_to_area() -> None:
    rows, groups, _, tags = draw_photos(named=2)
    of_named = np.concatenate(list(rows.blocks()))[:, :2].max(axis=1) > 0.5
    coverage = [compute_coverage(rows, groups, np.where(of_named, size, 1.0), tags) for size in (1e-6, 1e6)]
    assert coverage[1] > coverage[0]


def test_only_tags_of_the_regions_own_photo_count() -> None:
    rows, groups, area, tags = draw_photos(named=6)
    tags[::2] = 0  # as many regions have neighbours in tagged photos as before
    assert 0.0 < compute_coverage(rows, groups, area, tags) < 0.22


def test_a_single_photo_and_photos_without_tags_have_a_background() -> None:
    rows, groups, area, tags = draw_photos(named=6)
    first = InMemoryRows(next(iter(rows.blocks()))[:12])
    assert has_background_class(first, groups[:12], area[:12], tags[:1])
    assert has_background_class(rows, groups, area, tags * 0)
