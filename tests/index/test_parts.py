"""Parts: what is written is read back, merging keeps every photo, and their number stays small."""

import math
import random
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tagsight.index import parts as module
from tagsight.index.manifest import Part, photos_file, regions_file
from tagsight.index.parts import list_known, remove_unused, tidy_parts, write_part
from tagsight.predict.levels import LEVEL, to_levels

from .made import NO_PARTS, K, draw_posteriors, make_photo, put_posteriors


def content(folder: Path, parts: tuple[Part, ...]) -> dict[int, tuple[object, ...]]:
    """Every photo that counts, with all that is stored of it."""
    rows: dict[int, tuple[object, ...]] = {}
    for part in parts:
        photos = pq.read_table(photos_file(folder, part)).to_pylist()
        regions = pq.read_table(regions_file(folder, part)).to_pylist()
        for one, other in zip(photos, regions, strict=True):
            assert one["photo"] == other["photo"]
            if one["photo"] not in part.removed:
                assert one["photo"] not in rows
                rows[one["photo"]] = (*one.values(), *other.values())
    return rows


def test_a_part_is_plain_parquet(tmp_path: Path) -> None:
    posteriors = draw_posteriors(0, 5)
    (part,) = put_posteriors(tmp_path, posteriors).parts
    rows = pq.read_table(regions_file(tmp_path, part)).to_pylist()
    for row, posterior in zip(rows, posteriors, strict=True):
        levels = np.stack([np.frombuffer(row[f"p{k}"], LEVEL) for k in range(K)], axis=1)
        assert np.array_equal(levels, to_levels(posterior))
        assert np.abs(levels / 65535 - posterior).max() < 7.7e-6
        assert [row[f"top{k}"] for k in range(K)] == levels.max(axis=0).tolist()


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FULL", 40)
    monkeypatch.setattr(module, "FILES", ((photos_file, 3), (regions_file, 5)))


def test_tidying_keeps_every_photo_and_few_parts(tmp_path: Path, small_parts: None) -> None:
    dice = random.Random(4)
    numbers = iter(range(10_000))
    parts: tuple[Part, ...] = ()
    before: dict[int, tuple[object, ...]] = {}
    for _ in range(25):
        fresh = [make_photo(next(numbers), np.full((2, K), dice.random())) for _ in range(dice.randint(1, 12))]
        parts = (*parts, write_part(tmp_path, fresh))
        chosen = dice.randrange(len(parts))
        live = sorted(set(content(tmp_path, (parts[chosen],))))
        gone = {*parts[chosen].removed, *dice.sample(live, dice.randint(0, len(live)))}
        parts = (*parts[:chosen], parts[chosen]._replace(removed=tuple(sorted(gone))), *parts[chosen + 1 :])
        before = content(tmp_path, parts)
        parts = tidy_parts(tmp_path, parts)
        assert content(tmp_path, parts) == before
        assert sum(part.n_live for part in parts) == len(before)
        assert all(2 * part.n_live >= part.n_photos > 0 for part in parts)
        small = [part for part in parts if part.n_live < module.FULL]
        assert len(small) <= math.log(module.FULL, module.GROWTH) + 1
    remove_unused(tmp_path, NO_PARTS._replace(parts=parts))
    assert len(list((tmp_path / "parts").iterdir())) == 2 * len(parts)
    assert content(tmp_path, parts) == before


def test_a_large_part_is_left_alone(tmp_path: Path, small_parts: None) -> None:
    large = write_part(tmp_path, [make_photo(number, np.full((1, K), 0.5)) for number in range(30)])
    tiny = write_part(tmp_path, [make_photo(99, np.full((1, K), 0.5))])
    assert tidy_parts(tmp_path, (large, tiny)) == (large, tiny)


def test_known_photos_leave_out_those_that_went(tmp_path: Path) -> None:
    manifest = put_posteriors(tmp_path, draw_posteriors(0, 4))
    part = manifest.parts[0]._replace(removed=(1,))
    known = list_known(tmp_path, manifest._replace(parts=(part,)))
    assert list(known) == ["000.jpg", "002.jpg", "003.jpg"]
    assert known["002.jpg"] == (2, part.name, 2, 1)
