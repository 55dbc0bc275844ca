"""Training and indexing on a Ray cluster: results equal those of this machine; a stopped driver is resumed."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tagsight.predict.model_file import load_model
from tests.ray_cluster import open_cluster

from .conftest import Trained, call

pytest.importorskip("ray", reason="Ray is not installed (tagsight[ray])")

# Ray leaves sockets and log files to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore:Tip. In future versions of Ray:FutureWarning"
)
RUN = [sys.executable, "-c", "from tagsight.cli.main import main; main()"]


@pytest.fixture(scope="module")
def address(cache: Path) -> Iterator[str]:
    """A cluster that this process is part of."""
    with open_cluster() as place:
        yield place


def train(trained: Trained, model: Path, address: str, *more: str) -> subprocess.Popen[str]:
    command = [*RUN, "train", str(trained.photos / "train"), "-o", str(model), "--free", "3", "--regions", "30"]
    command += ["--engine", "ray", "--address", address, "--workers", "2", *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def wait_for_position(model: Path, process: subprocess.Popen[str], known: set[Path]) -> set[Path]:
    """Wait until the training has stored a new position in any of its fits."""
    while not (found := set(model.parent.glob(f"{model.name}.checkpoint/fits/*/0*")) - known):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.005)
    return found


@pytest.mark.slow
def test_a_killed_and_a_stopped_driver_are_resumed_to_the_same_model(trained: Trained, address: str, tmp_path: Path):
    whole = train(trained, tmp_path / "whole", address)
    assert whole.wait() == 0, whole.communicate()[1]
    broken = tmp_path / "broken"
    known: set[Path] = set()
    for number, code, more in ((signal.SIGKILL, -9, ()), (signal.SIGTERM, 143, ("--resume",))):
        process = train(trained, broken, address, *more)
        known |= wait_for_position(broken, process, known)
        process.send_signal(number)
        _, stderr = process.communicate()
        assert process.returncode == code, stderr
    assert "--resume" in stderr
    assert "Traceback" not in stderr
    last = train(trained, broken, address, "--resume")
    assert last.wait() == 0, last.communicate()[1]
    assert broken.read_bytes() == (tmp_path / "whole").read_bytes()
    ours, theirs = load_model(broken), load_model(trained.model)
    assert ours.training.bound == pytest.approx(theirs.training.bound, rel=1e-9)
    assert ours.predictor.parts.learned.state.appearance.mean == pytest.approx(
        theirs.predictor.parts.learned.state.appearance.mean, abs=1e-6
    )


@pytest.mark.slow
def test_an_index_equals_that_of_this_machine(
    trained: Trained, address: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    photos = tmp_path / "photos"
    photos.mkdir()
    for source in sorted((trained.photos / "train").glob("*.jpg"))[:6]:
        (photos / source.name).symlink_to(source)
    (photos / "bad.jpg").write_text("no photo")
    assert call("index", trained.model, photos, "-o", tmp_path / "local.index", "--workers", 1).exit_code == 0
    monkeypatch.setenv("TAGSIGHT_CACHE", str(tmp_path / "cache"))  # an empty cache, so that actors extract features
    result = call("index", trained.model, photos, "-o", tmp_path / "ray.index", "--engine", "ray")
    assert result.exit_code == 0, result.output
    assert "bad.jpg" in result.output
    (ours,), (theirs,) = ((tmp_path / f"{name}.index/parts").iterdir() for name in ("ray", "local"))
    assert ours.read_bytes() == theirs.read_bytes()
    entries = list((tmp_path / "cache").glob("features/*/*.safetensors"))
    assert len(entries) == 6
    for entry in entries:
        assert entry.read_bytes() == (cache / entry.relative_to(tmp_path / "cache")).read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--engine", "spark"), "engine must be one of local, ray, got 'spark'"),
        (("--address", "auto"), "choose engine 'ray', or omit the address"),
        (("--engine", "ray", "--memory", "2GB"), "memory limits this machine"),
    ],
)
def test_options_that_exclude_each_other_are_refused_before_any_work(
    trained: Trained, tmp_path: Path, options: tuple[str, ...], message: str
):
    result = call("train", trained.photos / "train", "-o", tmp_path / "a.model", *options)
    assert result.exit_code == 1
    assert message in str(result.exception)
    assert not list(tmp_path.iterdir())
