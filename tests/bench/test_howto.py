"""The shell lines of the how-to page run; the first one, which renders, is run by the test of the tutorial."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_howto_runs(repository: Path, demo: Path, tmp_path: Path) -> None:
    text = (repository / "docs/howto/bench.md").read_text()
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert len(lines) == 3
    assert re.sub(r"\d+", "N", lines[0]) in re.sub(r"\d+", "N", (repository / "docs/tutorial.md").read_text())
    (tmp_path / "demo").symlink_to(demo)
    (tmp_path / "nearest.py").symlink_to(demo / "nearest.py")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in lines[1:]:
        line = line.replace("PYTHONPATH=.", f"PYTHONPATH=.{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        command = ["sh", "-c", f"{line} --workers 1"]
        run = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True)
        assert run.returncode == 0, f"{line}\n{run.stderr}"
    (named,) = re.findall(r"`(results/rendered/\S+json)`", text)
    assert (tmp_path / named).exists()
    assert len(list(tmp_path.glob("results/rendered/*/*/*/*.json"))) == 4
