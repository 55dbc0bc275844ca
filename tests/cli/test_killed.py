"""kill -9 at random moments of training: the rerun finishes, repeats no finished photo, and gives the same bytes."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import Trained

RUN = [sys.executable, "-c", "from tagsight.cli.main import main; main()"]


def train(trained: Trained, model: Path, cache: Path) -> subprocess.Popen[bytes]:
    command = [*RUN, "train", str(trained.photos / "train"), "-o", str(model), "--free", "2", "--regions", "30"]
    environment = {**os.environ, "TAGSIGHT_CACHE": str(cache)}
    null = subprocess.DEVNULL
    return subprocess.Popen(command, env=environment, start_new_session=True, stdout=null, stderr=null)


def entries(cache: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in cache.rglob("features/*/*.safetensors")}


@pytest.mark.slow
def test_training_survives_being_killed(trained: Trained, tmp_path: Path) -> None:
    start = time.monotonic()
    assert train(trained, tmp_path / "undisturbed", tmp_path / "cache-a").wait() == 0
    whole = time.monotonic() - start

    model, cache = tmp_path / "disturbed", tmp_path / "cache-b"
    moments = random.Random(0)
    finished: dict[Path, int] = {}
    for _ in range(10):
        process = train(trained, model, cache)
        time.sleep(moments.uniform(0.05, 1.0) * whole)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        now = entries(cache)
        assert finished.items() <= now.items()
        finished = now
    assert train(trained, model, cache).wait() == 0
    assert finished.items() <= entries(cache).items()
    assert model.read_bytes() == (tmp_path / "undisturbed").read_bytes()
