"""The page's command learns on a GPU, or says in one sentence why it cannot."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tagsight.demo import render_collection
from tests.pages import make_environment, read_commands


def sees_gpu() -> bool:
    if find_spec("torch") is None:
        return False
    code = "import torch, sys; sys.exit(not torch.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_command_learns_or_says_why_not(repository: Path, tmp_path: Path) -> None:
    page = repository / "docs/howto/gpu.md"
    lines = read_commands(page)
    assert lines[0] == "pip install -e '.[torch]'  # in the project's folder"
    render_collection(tmp_path / "rendered", n_photos=6, seed=0)
    (tmp_path / "rendered/train").rename(tmp_path / "photos")
    environment = make_environment(tmp_path / "cache")
    run = subprocess.run(["sh", "-c", lines[1]], cwd=tmp_path, env=environment, capture_output=True, text=True)
    if sees_gpu():
        assert run.returncode == 0, run.stderr
        assert (tmp_path / "my.model").stat().st_size > 0
    else:
        assert run.returncode == 1
        (said,) = (line for line in run.stderr.splitlines() if not line.startswith("tagsight: warning: "))
        assert said.startswith("tagsight: device 'cuda' needs ")
        assert not (tmp_path / "my.model").exists()
