"""Bad input: one sentence that names it, exit code 1, nothing half-written."""

import subprocess
import sys
from pathlib import Path

import pytest

from tagsight.errors import InputError

from .conftest import Trained, call

RUN = [sys.executable, "-c", "from tagsight.cli.main import main; main()"]


def fail(*arguments: object) -> str:
    run = subprocess.run([*RUN, *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == 1, run
    assert run.stdout == ""
    messages = [line for line in run.stderr.splitlines() if line.strip()]
    lines = [line for line in messages if not line.startswith("tagsight: warning: ")]
    assert len(lines) == 1, run.stderr
    assert lines[0].startswith("tagsight: ")
    return lines[0]


def test_a_missing_collection_is_refused(tmp_path: Path) -> None:
    assert "does not exist" in fail("train", tmp_path / "absent", "-o", tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_folder_without_tags_is_refused(tmp_path: Path) -> None:
    assert "tags.csv" in fail("inspect", tmp_path)


def test_a_missing_model_is_refused(tmp_path: Path) -> None:
    assert "there is no model file" in fail("annotate", tmp_path / "absent", tmp_path)


def test_a_truncated_model_is_refused(trained: Trained, tmp_path: Path) -> None:
    short = tmp_path / "short.model"
    short.write_bytes(trained.model.read_bytes()[:1000])
    assert "cut short" in fail("factors", short)


def test_a_misspelt_object_lists_the_known_ones(trained: Trained) -> None:
    photo = next((trained.photos / "test").glob("*.jpg"))
    message = fail("describe", trained.model, photo, "--object", "brid")
    assert "'brid'" in message
    assert "bird" in message


@pytest.mark.parametrize("box", ["1,2,3", "a,b,c,d", "0,0,9999,10", "10,10,5,20"])
def test_a_box_outside_the_photo_is_refused(trained: Trained, box: str) -> None:
    photo = next((trained.photos / "test").glob("*.jpg"))
    assert "box" in fail("describe", trained.model, photo, "--object", "bird", "--box", box)


def test_unknown_features_are_refused(trained: Trained, tmp_path: Path) -> None:
    message = fail("train", trained.photos / "train", "-o", tmp_path / "m", "--features", "sift")
    assert "deep, deep-small, classic or the path of an ONNX file" in message


def test_an_unknown_device_is_refused(trained: Trained, tmp_path: Path) -> None:
    message = fail("train", trained.photos / "train", "-o", tmp_path / "m", "--device", "gpu")
    assert "device must be one of cpu, cuda, cuda-bf16, got 'gpu'" in message
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--free", 100_000, "the number of free factors must lie between 0 and 1000, got 100000"),
        ("--regions", 10**9, "the number of regions must lie between 1 and 2000, got 1000000000"),
        ("--workers", 100_000, "the number of workers must lie between 1 and 1024, got 100000"),
        ("--seed", 10**30, "seed must lie between 0 and 4294967295, got"),
        ("--coupling", "inf", "coupling must lie between 0 and 1000000.0, got inf"),
        ("--memory", "9" * 400 + "GB", "memory must be a size such as 2GB"),
    ],
)
def test_numbers_out_of_range_are_refused(
    trained: Trained, tmp_path: Path, option: str, value: object, message: str
) -> None:
    result = call("train", trained.photos / "train", "-o", tmp_path / "m", option, value)
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert not list(tmp_path.iterdir())
