"""Shards and local posteriors on disk: the same bits back, and a clear refusal of what is not whole."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tagsight.engine.local_file import load_local, save_local
from tagsight.engine.shard_file import (
    check_shard,
    has_shard,
    identify_shard,
    load_shard,
    load_shard_into,
    save_shard,
)
from tagsight.engine.threads import ThreadBatch
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
    """The middle one of three, whose features hold the others' rows too."""
    return make_shards(PHOTOS, SETTINGS, 3)[1]


def start(shard: Shard) -> Local:
    return start_local(shard, STARTS["random"]([shard], FACTORS, 0), np.ones(PLAN.n_sequences), PLAN)


def test_a_shard_comes_back_with_its_own_rows_alone(shard: Shard, tmp_path: Path) -> None:
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


def test_mapped_features_are_read_only_and_a_buffer_is_used_again(shard: Shard, tmp_path: Path) -> None:
    save_shard(shard, tmp_path / "s")
    mapped = load_shard(tmp_path / "s", mmap=True).features
    assert isinstance(mapped, np.memmap)
    assert not mapped.flags.writeable
    buffer = np.empty(mapped.nbytes + 100, np.uint8)
    back = load_shard_into(tmp_path / "s", buffer)
    assert np.shares_memory(back.features, buffer)
    assert_array_equal(back.features, mapped)
    with pytest.raises(InputError, match="damaged"):
        load_shard_into(tmp_path / "s", buffer[: mapped.nbytes - 1])


def test_what_is_not_whole_is_refused(shard: Shard, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    assert not has_shard(folder)
    with pytest.raises(InputError, match="no complete shard"):
        load_shard(folder)
    save_shard(shard, folder)
    assert has_shard(folder)
    check_shard(folder)
    content = bytearray((folder / "features.npy").read_bytes())
    content[-1] ^= 1
    (folder / "features.npy").write_bytes(content)
    with pytest.raises(InputError, match=r"features\.npy' is damaged"):
        check_shard(folder)
    with pytest.raises(InputError, match=r"features\.npy' is damaged"):
        load_shard(folder)
    save_shard(shard, folder)
    (folder / "layout.safetensors").write_bytes(b"abc")
    with pytest.raises(InputError, match=r"layout\.safetensors' is damaged"):
        load_shard(folder)
    (folder / "done.json").write_text('{"schema": 99}')
    with pytest.raises(InputError, match="schema 99"):
        load_shard(folder)
    save_shard(shard, folder)
    check_shard(folder)


def test_shards_of_other_content_have_another_identity(shard: Shard, tmp_path: Path) -> None:
    save_shard(shard, tmp_path / "a")
    save_shard(shard, tmp_path / "b")
    changed = shard.features.copy()
    changed[shard.layout.rows[3], 2] += 1e-12
    save_shard(shard._replace(features=changed), tmp_path / "c")
    assert identify_shard(tmp_path / "a") == identify_shard(tmp_path / "b") != identify_shard(tmp_path / "c")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_local_posterior_comes_back_bit_by_bit(shard: Shard, tmp_path: Path, dtype: type) -> None:
    local = start(shard)
    local = local._replace(assign=local.assign.astype(dtype))
    save_local(local, tmp_path / "l")
    for ours, theirs in zip(load_local(tmp_path / "l"), local, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs.tobytes()
        assert ours.flags.writeable
    (tmp_path / "l").write_bytes((tmp_path / "l").read_bytes()[:-4])
    with pytest.raises(InputError, match=r"cannot be read.*train again without --resume"):
        load_local(tmp_path / "l")
