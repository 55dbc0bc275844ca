"""The command and the code of the page train on a GPU, or fail with one sentence."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tagsight.demo import render_collection
from tests.pages import make_environment, read_blocks, read_commands


def sees_gpu() -> bool:
    if find_spec("torch") is None:
        return False
    code = "import torch, sys; sys.exit(not torch.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.slow
def test_the_page_trains_or_reports_why_not(repository: Path, tmp_path: Path) -> None:
    page = repository / "docs/howto/gpu.md"
    lines = read_commands(page)
    assert lines[0] == "pip install -e '.[torch]'  # in the project's folder"
    (code,) = read_blocks(page, "python")
    render_collection(tmp_path / "rendered", n_photos=6, seed=0)
    (tmp_path / "rendered/train").rename(tmp_path / "photos")
    environment = make_environment(tmp_path / "cache")
    with_gpu = sees_gpu()
    for command in (["sh", "-c", lines[1]], [sys.executable, "-c", code]):
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        if with_gpu:
            assert run.returncode == 0, run.stderr
            assert (tmp_path / "my.model").stat().st_size > 0
        else:
            assert run.returncode == 1
            assert "device 'cuda' needs " in run.stderr.splitlines()[-1]
            assert not (tmp_path / "my.model").exists()
