"""Features of many photos: cached by content, resumed, unreadable photos reported."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from tests.flips import flip_bits

from tagsight.features import extract as module
from tagsight.features.extract import extract
from tagsight.features.extractor import ExtractorConfig
from tagsight.features.photo_features import FeatureCache, PhotoFeatures, extract_photo
from tagsight.features.transforms import Block
from tagsight.types import Array


class MeanColour:
    """An extractor that needs no network."""

    fingerprint = "mean colour"
    blocks = (Block(3, 1.0, 1.0),)

    def extract(self, pixels: Array, labels: Array) -> Array:
        n = np.bincount(labels.ravel())
        sums = [np.bincount(labels.ravel(), pixels[..., c].ravel()) for c in range(3)]
        return (np.stack(sums, axis=1) / n[:, None] / 255).astype(np.float32)


@pytest.fixture(autouse=True)
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGSIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "open_extractor", lambda extractor_config: MeanColour())


@pytest.fixture
def photos(tmp_path: Path) -> list[Path]:
    rng = np.random.default_rng(0)
    paths = [tmp_path / f"{i}.png" for i in range(3)]
    for path in paths:
        blocks = rng.integers(0, 255, (4, 5, 3), np.uint8)
        Image.fromarray(blocks.repeat(12, axis=0).repeat(12, axis=1)).save(path)
    return paths


def run(photos: list[Path]) -> module.Extraction:
    return extract(photos, ExtractorConfig("deep"), n_regions=8, n_workers=1)


def test_extraction_of_many_photos_equals_that_of_each(photos: list[Path]) -> None:
    for path, found in zip(photos, run(photos).load(), strict=True):
        expected = extract_photo(path, MeanColour(), n_regions=8)
        for a, b in zip(found, expected, strict=True):
            assert_array_equal(a, b)


def test_cached_photos_are_not_extracted_again(photos: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    run(photos[:2])
    extracted: list[Path] = []

    def record(path: Path, extractor: object, *, n_regions: int) -> PhotoFeatures:
        extracted.append(path)
        return extract_photo(path, MeanColour(), n_regions=n_regions)

    monkeypatch.setattr(module, "extract_photo", record)
    run(photos)
    assert extracted == photos[2:]


def test_a_copy_shares_the_entry_and_a_change_does_not(photos: list[Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.png"
    copy.write_bytes(photos[0].read_bytes())
    entries = run([photos[0], copy, photos[1]]).entries
    assert entries[0] == entries[1] != entries[2]


def test_a_damaged_entry_is_written_again(photos: list[Path]) -> None:
    entry = run(photos).entries[0]
    whole = entry.read_bytes()
    for damage in (whole[:50], b"", whole[: len(whole) // 2], *flip_bits(whole, 60)):
        entry.write_bytes(damage)
        assert FeatureCache(entry.parent).load(entry) is None
        assert run(photos).entries[0].read_bytes() == whole


def test_an_entry_of_another_photo_or_setting_is_written_again(photos: list[Path]) -> None:
    first, second, _ = run(photos).entries
    wholes = [first.read_bytes(), second.read_bytes()]
    other = extract(photos[:1], ExtractorConfig("deep"), n_regions=5, n_workers=1).entries[0]
    for foreign in (second, other):
        first.write_bytes(foreign.read_bytes())
        assert [entry.read_bytes() for entry in run(photos).entries[:2]] == wholes


def test_unreadable_photos_are_reported_and_left_out(photos: list[Path], tmp_path: Path) -> None:
    bad = tmp_path / "bad\n.jpg"
    bad.write_text("<html>")
    gone = tmp_path / "gone.jpg"
    extraction = run([photos[0], bad, gone, photos[1]])
    assert extraction.photos == (photos[0], photos[1])
    assert [problem.path for problem in extraction.problems] == [bad, gone]
    assert "known format" in extraction.problems[0].reason
    assert "No such file" in extraction.problems[1].reason


def test_other_workers_get_absolute_paths(photos: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Path] = []

    def map_elsewhere(function: Callable[[Any], Any], chunks: Iterable[Any]) -> Iterator[Any]:
        for chunk in chunks:
            given.extend(chunk)
            monkeypatch.chdir("/")
            yield function(chunk)

    monkeypatch.chdir(photos[0].parent)
    monkeypatch.setenv("TAGSIGHT_CACHE", "cache")
    names = [Path(photo.name) for photo in photos] + [Path("gone.jpg")]
    extraction = extract(names, ExtractorConfig("deep"), n_regions=8, map_fn=map_elsewhere)
    assert given == [*photos, photos[0].with_name("gone.jpg")]
    assert extraction.photos == tuple(names[:3])
    assert extraction.problems[0].path == Path("gone.jpg")
    assert all(entry.parent.parent.parent == photos[0].with_name("cache") for entry in extraction.entries)


def test_other_settings_have_another_cache() -> None:
    folders = {FeatureCache.open(name, n).folder for name in ("a", "b") for n in (10, 20)}
    assert len(folders) == 4


def test_the_callback_is_called_once_per_photo(photos: list[Path]) -> None:
    calls: list[int] = []
    extract(photos, ExtractorConfig("deep"), n_workers=1, on_photo=lambda: calls.append(1))
    assert len(calls) == 3


def test_a_stored_entry_is_loaded_as_it_was(photos: list[Path]) -> None:
    cache = FeatureCache.open("mean colour", 8)
    entry = cache.locate(photos[0])
    assert cache.load(entry) is None
    photo = extract_photo(photos[0], MeanColour(), n_regions=8)
    cache.store(entry, photo)
    for a, b in zip(cache.load(entry) or (), photo, strict=True):
        assert_array_equal(a, b)


def test_edge_weights_average_one(photos: list[Path]) -> None:
    photo = extract_photo(photos[0], MeanColour(), n_regions=8)
    assert photo.edge_weights.mean() == pytest.approx(1)
    assert_allclose(photo.edge_weights * photo.boundary.mean(), photo.boundary, rtol=1e-6)
