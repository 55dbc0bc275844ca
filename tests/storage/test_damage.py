"""Damaged files of a checkpoint: every changed bit is reported in one sentence with the remedy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tagsight.classifiers.calibration import Calibration
from tagsight.engine.checkpoint import FORMAT, open_checkpoint
from tagsight.engine.devices import ComputeTarget
from tagsight.engine.fit import fit_shards
from tagsight.engine.local.posterior_file import link_local, load_local, load_posterior, save_local
from tagsight.engine.local.shard_file import load_shard, save_shard
from tagsight.errors import InputError
from tagsight.model.fit import Fit, FitProgress, Loop
from tagsight.model.state import Local
from tagsight.runtime.interrupts import Stop
from tagsight.storage.records import load_record, save_record
from tagsight.storage.tensor_file import read_tensors, save_tensors
from tests.engine.test_resume import cut, make_spec
from tests.flips import flip_bits

FLIPS = 40
REMEDY = r"train again without --resume|upgrade tagsight"  # a flipped bit may be one of the schema


@pytest.fixture(scope="module")
def fitted() -> tuple[Fit, FitProgress]:
    positions: list[FitProgress] = []
    fit, _ = fit_shards(cut(1), make_spec(Loop(12, 1e-5, on_progress=positions.append)), ComputeTarget(n_workers=1))
    return fit, positions[-1]


def assert_noticed(path: Path, load: Callable[[], Any], remedy: str) -> None:
    whole = path.read_bytes()
    for content in (*flip_bits(whole, FLIPS), b"", whole[:-1], whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=remedy) as refused:
            load()
        assert str(path) in str(refused.value)
    path.write_bytes(whole)
    load()


def test_every_changed_bit_of_a_fit_and_its_position_is_detected(
    fitted: tuple[Fit, FitProgress], tmp_path: Path
) -> None:
    fit, position = fitted
    save_record(fit, tmp_path / "fit", FORMAT)
    assert_noticed(tmp_path / "fit", lambda: load_record(Fit, tmp_path / "fit", FORMAT), REMEDY)
    save_record(position, tmp_path / "position", FORMAT)
    assert_noticed(tmp_path / "position", lambda: load_record(FitProgress, tmp_path / "position", FORMAT), REMEDY)


def test_every_changed_bit_of_local_posteriors_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "current-0.safetensors"
    save_local(Local(np.arange(9.0), np.ones((3, 2, 2)), np.zeros((3, 2), np.int64)), path)
    assert_noticed(path, lambda: load_posterior(tmp_path), REMEDY)
    path.unlink()
    for ask in (load_posterior, lambda folder: link_local(path, folder / "x"), lambda _: load_local(path)):
        with pytest.raises(InputError, match=r"current-0\.safetensors.*train again without --resume"):
            ask(tmp_path)


def test_every_changed_bit_of_stage_results_is_detected(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(tmp_path / "c", {"a": 1}, resume=False, stop=Stop())
    assert checkpoint.load_result("calibration", Calibration) is None
    checkpoint.save_result("calibration", Calibration(0.1, -2.0, None))
    assert checkpoint.load_result("calibration", Calibration) == Calibration(0.1, -2.0, None)
    path = tmp_path / "c/results/calibration.safetensors"
    assert_noticed(path, lambda: checkpoint.load_result("calibration", Calibration), REMEDY)


def test_every_changed_bit_of_shards_is_detected(tmp_path: Path) -> None:
    (shard,) = cut(1)
    save_shard(shard, tmp_path / "s")
    for name in ("features.npy", "layout.safetensors"):
        path = tmp_path / "s" / name
        assert_noticed(path, lambda: load_shard(tmp_path / "s"), "run again")


def test_tensors_are_loaded_as_they_were(tmp_path: Path) -> None:
    tensors = {"a": np.arange(6.0).reshape(2, 3).T, "b": np.array(3), "c": np.zeros((0, 2), np.float32)}
    save_tensors(tmp_path / "t", {"x": [1, None, "ü"]}, tensors)
    header, loaded, intact = read_tensors(tmp_path / "t")
    assert intact
    assert header == {"x": [1, None, "ü"]}
    for name, array in tensors.items():
        assert_array_equal(loaded[name], array, strict=True)
        assert loaded[name].flags.writeable
