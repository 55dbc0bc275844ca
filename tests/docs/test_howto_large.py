"""Every command of the page on large collections runs, in order, and so does its Python: the same model each time."""

import subprocess
import sys
from pathlib import Path

import pytest

from tagsight.demo import render_collection
from tests.pages import make_environment, read_blocks, read_commands


@pytest.mark.slow
def test_the_page_runs(repository: Path, tmp_path: Path) -> None:
    page = repository / "docs/howto/large.md"
    render_collection(tmp_path / "rendered", n_photos=16, seed=0)
    (tmp_path / "rendered/train").rename(tmp_path / "photos")
    environment = make_environment(tmp_path / "cache")
    commands = [["sh", "-c", line] for line in read_commands(page)]
    assert len(commands) == 2
    commands += [[sys.executable, "-c", code] for code in read_blocks(page, "python")]
    models: list[bytes] = []
    for command in commands:
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, f"{command}\n{run.stderr}"
        models += [model.read_bytes() for model in tmp_path.glob("*.model")]
        assert not (tmp_path / "my.model.checkpoint").exists()
    assert len(set(models)) == 1
