"""Batches on disk give the same bits as photos in memory: model, classifiers, calibration, examples."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagsight.errors import InputError
from tagsight.features.photo_features import PhotoFeatures
from tagsight.runtime import memory
from tagsight.runtime.memory import leave_room, measure_resident, read_size, write_size
from tagsight.training import batches as photo_batches
from tagsight.training import fit as fitting
from tagsight.training.batches import OnDiskBatches, PhotoBatch, Subset, plan_length
from tagsight.training.examples import find_top_regions, merge_top_regions
from tagsight.training.fit import fit_photos
from tagsight.training.options import TrainOptions
from tests.baselines.planted import World, draw_world
from tests.flips import flip_bits


@pytest.fixture(scope="module")
def world() -> World:
    return draw_world(150, seed=0)


def flatten(value: Any) -> list[bytes]:
    if isinstance(value, tuple):
        return [item for part in value for item in flatten(part)]
    return [repr(value).encode() if value is None or isinstance(value, str) else np.asarray(value).tobytes()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        TrainOptions(n_free=3),
        TrainOptions(n_free=2, classifiers=False),
        TrainOptions(n_free=2, classifiers=False, exclusive=True, shrinkage=2.0, attribute_shrinkage=20.0),
    ],
)
def test_a_memory_limit_does_not_change_a_bit(
    world: World, options: TrainOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches of one block of photos; the last batch is shorter."""
    monkeypatch.setattr(photo_batches, "ALIGN", 64)
    monkeypatch.setattr(fitting, "MAX_SWEEPS", 25)
    held = fit_photos(world.photos, world.tags, options)
    n_batches: list[int] = []

    def plan(*arguments: object) -> int:
        return 64

    class Counting(OnDiskBatches):
        def __init__(self, *arguments: Any):
            super().__init__(*arguments)
            n_batches.append(len(list(self)))

    monkeypatch.setattr(fitting, "plan_length", plan)
    monkeypatch.setattr(fitting, "OnDiskBatches", Counting)
    stored = fit_photos(world.photos, world.tags, replace(options, memory=10**12))
    assert n_batches == [2, 1, 3]  # calibrating, held out, fitting
    assert flatten(stored) == flatten(held)


def test_batches_hold_all_photos_once_and_are_reused(world: World, tmp_path: Path) -> None:
    photos = world.photos
    space = fitting._learn_space(fitting._TaggedPhotos(photos, sizes_of(photos), world.tags), TrainOptions())
    held = photo_batches.InMemoryBatches(photos, space)
    whole = next(iter(held)).stacked
    made = OnDiskBatches(photos, sizes_of(photos), space, tmp_path, 64)
    assert_batches(made, whole.X)

    class Gone(Subset):
        def __getitem__(self, index: Any) -> Any:
            if isinstance(index, slice):
                return Gone(photos, np.arange(len(photos))[index])
            raise AssertionError("loaded again")

    found = OnDiskBatches(Gone(photos, np.arange(len(photos))), sizes_of(photos), space, tmp_path, 64)
    assert_batches(found, whole.X)


@pytest.mark.parametrize("name", ["1.npy", "1.graph"])
def test_a_damaged_batch_is_written_again(world: World, tmp_path: Path, name: str) -> None:
    photos = world.photos
    space = fitting._learn_space(fitting._TaggedPhotos(photos, sizes_of(photos), world.tags), TrainOptions())
    OnDiskBatches(photos, sizes_of(photos), space, tmp_path, 64)
    whole = (tmp_path / name).read_bytes()
    for damaged in (*flip_bits(whole, 3), whole[:-5], None):
        (tmp_path / name).unlink() if damaged is None else (tmp_path / name).write_bytes(damaged)
        OnDiskBatches(photos, sizes_of(photos), space, tmp_path, 64)
        assert (tmp_path / name).read_bytes() == whole


def sizes_of(photos: list[PhotoFeatures]) -> np.ndarray:
    return np.array([len(photo.features) for photo in photos])


def assert_batches(batches: OnDiskBatches, X: np.ndarray) -> None:
    rows, last = [], 0
    for batch in batches:
        assert isinstance(batch, PhotoBatch)
        assert batch.photo_range.start == last
        assert len(batch.photos) == batch.photo_range.stop - last == batch.stacked.groups[-1] + 1
        rows.append(batch.stacked.X.copy())
        last = batch.photo_range.stop
    assert np.array_equal(np.concatenate(rows), X)


def test_merged_top_regions_of_batches_are_those_of_all_photos() -> None:
    rng = np.random.default_rng(0)
    log_odds = np.round(rng.normal(0, 2, (120, 4)))  # with ties
    log_odds[:, 3] = -1.0
    groups = np.repeat(np.arange(30), 4)
    parts = [find_top_regions(log_odds[a : a + 40], groups[a : a + 40] - a // 4, a // 4) for a in (0, 40, 80)]
    whole = find_top_regions(log_odds, groups)
    assert merge_top_regions(parts) == whole
    assert whole[3] == ()
    for k in range(3):
        assert len({top_region.photo for top_region in whole[k]}) == len(whole[k]) == 6
        strongest = max(log_odds[:, k])
        assert whole[k][0].score == strongest
        assert all(log_odds[4 * top_region.photo + top_region.region, k] == top_region.score for top_region in whole[k])


@pytest.mark.parametrize(
    ("text", "size"), [("2GB", 2 * 10**9), ("1.5 GiB", 3 * 2**29), ("800mb", 8 * 10**8), ("64KiB", 2**16)]
)
def test_sizes_are_parsed(text: str, size: int) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize("text", ["", "2", "GB", "-1GB", "2 gallons", "1e3MB", "9" * 400 + "GB"])
def test_text_that_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="memory must be a size such as 2GB"):
        read_size(text)


@pytest.mark.parametrize("resident", [3 * 10**8, 1_244_000_000])
def test_a_memory_limit_that_is_too_small_is_refused_with_the_required_size(
    resident: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "measure_resident", lambda: resident)
    sizes, allowed = np.full(1000, 80), np.ones((1000, 30), np.uint8)
    with pytest.raises(InputError, match=r"memory of 100MB is too small: training on 1000 photos takes \d") as refused:
        plan_length(10**8, sizes, allowed, 256)
    enough = read_size(str(refused.value).split("takes ")[1].split(";")[0])
    assert plan_length(enough, sizes, allowed, 256) == photo_batches.ALIGN
    more = plan_length(enough + 10**9, sizes, allowed, 256)
    assert more > photo_batches.ALIGN
    assert more % photo_batches.ALIGN == 0


def test_the_remaining_memory_excludes_that_of_the_process() -> None:
    before = measure_resident()
    ballast = np.ones(200 * 10**6, np.uint8)
    assert measure_resident() - before > 1.5 * 10**8
    assert leave_room(10**11, 10**10, "") < 10**11 - 10**10 - len(ballast)
    assert write_size(1_460_000_000) == "1.46GB"
    assert write_size(460_000_000) == "460MB"


def test_a_memory_limit_is_refused_on_a_gpu(world: World) -> None:
    with pytest.raises(InputError, match="memory limits device 'cpu'"):
        fit_photos(world.photos, world.tags, TrainOptions(memory=10**12, device="cuda"))
