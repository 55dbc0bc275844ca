"""Parts: merging keeps every photo, and the number of parts stays small."""

import math
import random
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tagsight.index import part_file as part_file_module
from tagsight.index import parts as module
from tagsight.index.manifest import Part, part_file
from tagsight.index.parts import list_known, remove_unused, tidy_parts, write_part

from .made import NO_PARTS, K, draw_posteriors, make_photo, put_posteriors


def content(folder: Path, parts: tuple[Part, ...]) -> dict[int, tuple[bytes, ...]]:
    """Every photo of the index, with everything that is stored of it."""
    rows: dict[int, tuple[bytes, ...]] = {}
    for part in parts:
        tensors = load_file(part_file(folder, part.name))
        for row, photo in enumerate(tensors["photo"].tolist()):
            if photo in part.removed:
                continue
            assert photo not in rows
            regions, path, label_map = (
                slice(*tensors[f"{name}_starts"][row : row + 2]) for name in ("region", "path", "label_map")
            )
            values = (
                *(tensors[name][row] for name in ("file_stat", "size")),
                *(tensors[name][regions] for name in ("boxes", "named")),
                *(tensors["tops"][:, row], tensors["levels"][:, regions]),
                *(tensors["path"][path], tensors["label_map"][label_map]),
            )
            rows[photo] = tuple(value.tobytes() for value in values)
    return rows


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FULL", 40)
    monkeypatch.setattr(part_file_module, "MERGED", 3)


def test_tidying_keeps_every_photo_and_few_parts(tmp_path: Path, small_parts: None) -> None:
    dice = random.Random(4)
    numbers = iter(range(10_000))
    parts: tuple[Part, ...] = ()
    before: dict[int, tuple[bytes, ...]] = {}
    for _ in range(25):
        fresh = [
            make_photo(next(numbers), np.full((dice.randint(1, 4), K), dice.random()))
            for _ in range(dice.randint(1, 12))
        ]
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
    assert len(list((tmp_path / "parts").iterdir())) == len(parts)
    assert content(tmp_path, parts) == before


def test_a_large_part_is_not_merged(tmp_path: Path, small_parts: None) -> None:
    large = write_part(tmp_path, [make_photo(number, np.full((1, K), 0.5)) for number in range(30)])
    tiny = write_part(tmp_path, [make_photo(99, np.full((1, K), 0.5))])
    assert tidy_parts(tmp_path, (large, tiny)) == (large, tiny)


def test_known_photos_do_not_include_removed_ones(tmp_path: Path) -> None:
    manifest = put_posteriors(tmp_path, draw_posteriors(0, 4))
    part = manifest.parts[0]._replace(removed=(1,))
    known = list_known(tmp_path, manifest._replace(parts=(part,)))
    assert list(known) == ["000.jpg", "002.jpg", "003.jpg"]
    assert known["002.jpg"] == (2, part.name, 2, 1)
