"""Shards and local posteriors on disk: loaded to the bit, and an error for damaged files."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tagsight.engine.local.posterior_file import load_local, save_local
from tagsight.engine.local.shard_file import load_shard, load_shard_into, save_shard
from tagsight.engine.local.threads import ThreadBatch
from tagsight.errors import InputError
from tagsight.model.layout import Shard
from tagsight.model.settings import Settings, plan_sticks
from tagsight.model.start import STARTS, blank_globals, start_local
from tagsight.model.state import Local
from tests.engine.training import FACTORS, draw_photos, make_shards

PHOTOS = draw_photos(20)
SETTINGS = Settings(FACTORS)
PLAN = plan_sticks(SETTINGS)


@pytest.fixture(scope="module")
def shard() -> Shard:
    """The middle one of three shards; its features include the rows of the others."""
    return make_shards(PHOTOS, SETTINGS, 3)[1]


def start(shard: Shard) -> Local:
    return start_local(shard, STARTS["random"]([shard], FACTORS, 0), np.ones(PLAN.n_sequences), PLAN)


def test_a_shard_is_loaded_with_its_own_rows_only(shard: Shard, tmp_path: Path) -> None:
    save_shard(shard, tmp_path / "s")
    back = load_shard(tmp_path / "s")
    assert len(back.features) == len(shard.layout.rows) < len(shard.features)
    assert_array_equal(back.features[back.layout.rows], shard.features[shard.layout.rows])
    assert back.square == shard.square
    for name, array in shard.layout._asdict().items():
        if name != "rows":
            assert_array_equal(getattr(back.layout, name), array)
            assert getattr(back.layout, name).dtype == array.dtype


def test_a_step_from_disk_is_that_in_memory(shard: Shard, tmp_path: Path) -> None:
    save_shard(shard, tmp_path / "s")
    save_local(start(shard), tmp_path / "l")
    state = blank_globals(SETTINGS, PHOTOS.X.shape[1])
    state.appearance.mean[:] = np.random.default_rng(0).standard_normal(state.appearance.mean.shape)
    ours = ThreadBatch(load_shard(tmp_path / "s"), load_local(tmp_path / "l"), SETTINGS, map)
    theirs = ThreadBatch(shard, start(shard), SETTINGS, map)
    for a, b in zip(ours.step(state), theirs.step(state), strict=True):
        assert_array_equal(a, b)
    for a, b in zip(ours.local, theirs.local, strict=True):
        assert_array_equal(a, b)


def test_features_are_loaded_into_a_buffer(shard: Shard, tmp_path: Path) -> None:
    save_shard(shard, tmp_path / "s")
    features = load_shard(tmp_path / "s").features
    buffer = np.empty(features.nbytes + 100, np.uint8)
    loaded = load_shard_into(tmp_path / "s", buffer)
    assert np.shares_memory(loaded.features, buffer)
    assert_array_equal(loaded.features, features)
    with pytest.raises(InputError, match="damaged"):
        load_shard_into(tmp_path / "s", buffer[: features.nbytes - 1])


def test_an_incomplete_or_damaged_shard_is_an_error(shard: Shard, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    with pytest.raises(InputError, match=r"layout\.safetensors' is missing; remove its folder and run again"):
        load_shard(folder)
    save_shard(shard, folder)
    content = bytearray((folder / "features.npy").read_bytes())
    content[-1] ^= 1
    (folder / "features.npy").write_bytes(content)
    with pytest.raises(InputError, match=r"features\.npy' is damaged"):
        load_shard(folder)
    save_shard(shard, folder)
    (folder / "layout.safetensors").write_bytes(b"abc")
    with pytest.raises(InputError, match=r"layout\.safetensors' is not a shard layout, or is cut short"):
        load_shard(folder)
    save_shard(shard, folder)
    load_shard(folder)


def test_features_of_another_shard_are_an_error(shard: Shard, tmp_path: Path) -> None:
    save_shard(shard, tmp_path / "a")
    save_shard(shard._replace(features=shard.features + 1), tmp_path / "b")
    (tmp_path / "a/features.npy").write_bytes((tmp_path / "b/features.npy").read_bytes())
    with pytest.raises(InputError, match=r"features\.npy' is damaged"):
        load_shard(tmp_path / "a")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_local_posterior_is_loaded_to_the_bit(shard: Shard, tmp_path: Path, dtype: type) -> None:
    local = start(shard)
    local = local._replace(assign=local.assign.astype(dtype))
    save_local(local, tmp_path / "l")
    for ours, theirs in zip(load_local(tmp_path / "l"), local, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs.tobytes()
        assert ours.flags.writeable
    (tmp_path / "l").write_bytes((tmp_path / "l").read_bytes()[:-4])
    with pytest.raises(InputError, match=r"is not a checkpoint file, or is cut short.*train again without --resume"):
        load_local(tmp_path / "l")
