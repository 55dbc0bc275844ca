"""Messages of `tagsight train` on checkpoints and locks; a checkpoint of another training is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tagsight.engine.checkpoint import checkpoint_folder, has_checkpoint, open_checkpoint, remove_checkpoint
from tagsight.errors import InputError, StoppedError
from tagsight.runtime.interrupts import Stop
from tagsight.storage.files import name_partial
from tagsight.storage.locks import hold_lock
from tagsight.training import pipeline as training

from .conftest import Trained, call


def train(trained: Trained, model: Path, *more: object) -> str:
    """The message of a run that ends with an error."""
    result = call("train", trained.photos / "train", "-o", model, "--free", 3, "--regions", 30, "--workers", 1, *more)
    return f"{result.stderr}{result.exception}"


@pytest.fixture
def stopped(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model file of a training that stopped when its first fit began."""

    def stop(*arguments: object) -> None:
        raise StoppedError(15, "and so on")

    monkeypatch.setattr(training, "fit_photos", stop)
    message = train(trained, tmp_path / "a.model")
    assert "stopped by SIGTERM; and so on" in message
    assert has_checkpoint(checkpoint_folder(tmp_path / "a.model"))
    return tmp_path / "a.model"


@pytest.mark.parametrize(
    ("more", "difference"),
    [
        (("--free", 5), "n_free was 3, now 5;"),
        (("--seed", 1), "seed was 0, now 1;"),
        (("--coupling", 0.5, "--affinity", 2), "coupling was 1.0, now 0.5, affinity was 1.0, now 2.0;"),
        (
            ("--preset", "additive"),
            "coupling was 1.0, now 0.4, affinity was 1.0, now 2.0, centred was False, now True, "
            "classifiers was True, now False;",
        ),
        (
            ("--preset", "additive", "--coupling", 0.7, "--no-centred"),
            "coupling was 1.0, now 0.7, affinity was 1.0, now 2.0, classifiers was True, now False;",
        ),
        (("--centred",), "centred was False, now True;"),
        (("--memory", "2GB"), "memory was None, now 2000000000;"),
    ],
)
def test_other_settings_are_refused_by_name(trained: Trained, stopped: Path, more: tuple, difference: str) -> None:
    message = train(trained, stopped, "--resume", *more)
    assert f"is the checkpoint of another training: {difference}" in message
    assert "train without --resume to start over" in message
    assert has_checkpoint(checkpoint_folder(stopped))


def test_other_tags_and_photos_are_refused(trained: Trained, stopped: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in (trained.photos / "train").iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    moved = Trained(tmp_path, trained.model)
    (tmp_path / "train").symlink_to(copy)
    assert "stopped by SIGTERM" in train(moved, stopped, "--resume")  # the same photos elsewhere are the same
    rows = (copy / "tags.csv").read_text().splitlines()
    name, objects, attributes = rows[1].split(",")
    (copy / "tags.csv").write_text("\n".join([rows[0], f"{name},{objects},", *rows[2:]]))
    assert "is the checkpoint of another training: tags was " in train(moved, stopped, "--resume")
    (copy / "tags.csv").write_text("\n".join([rows[0], *rows[2:]]))
    (copy / name).unlink()
    assert "is the checkpoint of another training: photos was " in train(moved, stopped, "--resume")
    assert attributes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda header: header | {"schema": 99},
            "has checkpoint schema 99, this version of tagsight needs",
        ),
        (lambda header: {"schema": 2}, "is damaged"),
    ],
)
def test_a_foreign_header_is_refused(trained: Trained, stopped: Path, change: Callable, message: str) -> None:
    header = checkpoint_folder(stopped) / "header.json"
    header.write_text(json.dumps(change(json.loads(header.read_text()))))
    assert message in train(trained, stopped, "--resume")


def test_the_use_of_an_existing_checkpoint_is_reported(trained: Trained, stopped: Path) -> None:
    message = train(trained, stopped)
    assert "starts from the beginning and replaces the checkpoint" in message
    assert "--resume continues that training" in message
    remove_checkpoint(checkpoint_folder(stopped))
    assert "training starts from the beginning" in train(trained, stopped, "--resume")


def test_two_trainings_cannot_write_the_same_model(trained: Trained, stopped: Path) -> None:
    lock = stopped.with_name("a.model.lock")
    assert not lock.exists()
    before = (checkpoint_folder(stopped) / "header.json").stat().st_mtime_ns
    with hold_lock(lock, wait=False):
        message = train(trained, stopped)
    assert "another training is writing" in message
    assert "choose another --output" in message
    assert (checkpoint_folder(stopped) / "header.json").stat().st_mtime_ns == before
    assert lock.exists()  # as a killed training leaves it
    assert "stopped by SIGTERM" in train(trained, stopped)
    assert not lock.exists()


def test_a_lock_file_removed_by_its_holder_can_be_locked_again(tmp_path: Path) -> None:
    with hold_lock(tmp_path / "l", wait=False, remove=True):
        (tmp_path / "l").unlink()
        with hold_lock(tmp_path / "l", wait=False, remove=True), pytest.raises(InputError, match="busy"):
            hold_lock(tmp_path / "l", wait=False, busy="busy").__enter__()
    assert not (tmp_path / "l").exists()


def test_files_that_are_not_of_the_checkpoint_stay(tmp_path: Path) -> None:
    folder = tmp_path / "m.checkpoint"
    open_checkpoint(folder, {"a": 1}, resume=False, stop=Stop())
    (folder / "own.txt").write_text("mine")
    left = name_partial(folder / "fits")  # by a training that was killed
    left.mkdir(parents=True)
    open_checkpoint(folder, {"a": 1}, resume=True, stop=Stop())
    assert not left.exists()
    remove_checkpoint(folder)
    assert [path.name for path in folder.iterdir()] == ["own.txt"]
