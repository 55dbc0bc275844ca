"""Tags that name all that is to be seen are told from tags of things before a background."""

import numpy as np
import pytest

from tagsight.classifiers.background import has_background, measure_coverage
from tagsight.classifiers.rows import InMemoryRows
from tagsight.types import Array, Ints

LOOKS = np.eye(8, dtype=np.float32)
Drawn = tuple[InMemoryRows, Ints, Array, Array]


def draw(*, named: int, n_photos: int = 60, always: bool = False) -> Drawn:
    """Photos of 12 regions, three of six looks each; the first `named` looks have a tag of their own."""
    rng = np.random.default_rng(0)
    tags = np.zeros((n_photos, named + always), np.uint8)
    X = []
    for i in range(n_photos):
        shown = rng.permutation(6)[:3]
        X.append(LOOKS[rng.permutation(np.repeat(shown, 4))] + rng.normal(0, 0.05, (12, 8)))
        tags[i, shown[shown < named]] = 1
    tags[:, named:] = 1
    vectors = np.concatenate(X)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return InMemoryRows(vectors), np.repeat(np.arange(n_photos), 12), np.full(len(vectors), 1 / 12), tags


def test_where_every_look_has_its_tag_there_is_no_background() -> None:
    drawn = draw(named=6)
    assert measure_coverage(*drawn) == pytest.approx(1.0, abs=0.02)
    assert not has_background(*drawn)


def test_looks_without_a_tag_are_a_background() -> None:
    assert 0.0 < measure_coverage(*draw(named=2)) < 0.45
    assert has_background(*draw(named=2))


def test_a_tag_that_all_photos_have_says_nothing() -> None:
    assert measure_coverage(*draw(named=0, always=True)) == 0.0
    assert has_background(*draw(named=0, always=True))


def test_large_regions_count_more() -> None:
    rows, groups, _, tags = draw(named=2)
    of_named = np.concatenate(list(rows.blocks()))[:, :2].max(axis=1) > 0.5
    coverage = [measure_coverage(rows, groups, np.where(of_named, size, 1.0), tags) for size in (1e-6, 1e6)]
    assert coverage[1] > coverage[0]


def test_a_region_is_not_explained_by_a_tag_that_its_photo_lacks() -> None:
    rows, groups, area, tags = draw(named=6)
    tags[::2] = 0  # as many regions have neighbours in tagged photos as before
    assert 0.0 < measure_coverage(rows, groups, area, tags) < 0.22


def test_one_photo_has_a_background_and_photos_without_tags_too() -> None:
    rows, groups, area, tags = draw(named=6)
    first = InMemoryRows(next(iter(rows.blocks()))[:12])
    assert has_background(first, groups[:12], area[:12], tags[:1])
    assert has_background(rows, groups, area, tags * 0)
