"""Similar photos and regions, compared with brute force."""

from pathlib import Path

import numpy as np
import pytest

from tagsight.errors import InputError
from tagsight.index import open_index
from tagsight.predict.probabilities import to_levels
from tagsight.types import Array

from .made import draw_posteriors, put_posteriors


def compute_similarity(a: Array, b: Array) -> float:
    return float(np.minimum(a, b).sum() / np.maximum(a, b).sum())


@pytest.fixture(scope="module")
def posteriors() -> list[Array]:
    return [to_levels(one).astype(float) for one in draw_posteriors(8, 30)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("index")
    put_posteriors(place, draw_posteriors(8, 30))
    return place


def test_similar_photos_equal_those_of_brute_force(folder: Path, posteriors: list[Array]) -> None:
    wanted = posteriors[4].max(axis=0)
    slow = sorted((-compute_similarity(wanted, one.max(axis=0)), n) for n, one in enumerate(posteriors) if n != 4)
    hits = open_index(folder).find_similar(4, top=12)
    assert [hit.photo for hit in hits] == [n for _, n in slow[:12]]
    assert [hit.score for hit in hits] == pytest.approx([-minus for minus, _ in slow[:12]])


@pytest.mark.parametrize("photo", range(0, 30, 3))
def test_similar_regions_equal_those_of_brute_force(folder: Path, posteriors: list[Array], photo: int) -> None:
    wanted = posteriors[photo][0]
    slow = sorted(
        min((-compute_similarity(wanted, region), n, r) for r, region in enumerate(one))
        for n, one in enumerate(posteriors)
        if n != photo
    )
    hits = open_index(folder).find_similar(photo, 0, top=2)
    assert [(hit.photo, hit.matches[0].region) for hit in hits] == [(n, r) for _, n, r in slow[:2]]
    assert [hit.score for hit in hits] == pytest.approx([-minus for minus, _, _ in slow[:2]])


def test_region_at_is_the_region_of_the_pixel(folder: Path, posteriors: list[Array]) -> None:
    index = open_index(folder)
    n_regions = len(posteriors[4])
    probabilities, boxes = index.regions(4)
    assert np.allclose(probabilities * 65535, posteriors[4])
    for region, (x0, _, x1, _) in enumerate(boxes.tolist()):
        assert index.region_at(4, (x0 + x1) // 2, 49) == region
    assert len(boxes) == n_regions
    assert index.labels(4).shape == (5, 10 * n_regions)


def test_unknown_photos_regions_and_pixels_are_refused(folder: Path) -> None:
    index = open_index(folder)
    for ask in (
        lambda: index.find_similar(999),
        lambda: index.find_similar(4, 99),
        lambda: index.region_at(4, 100, 0),
        lambda: index.region_at(999, 0, 0),
        lambda: index.labels(999),
        lambda: index.regions(999),
        lambda: index.find_similar(4, top=0),
    ):
        with pytest.raises(InputError):
            ask()
