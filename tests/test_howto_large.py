"""Every command of the page on large collections runs, in order, and so does its Python: the same model each time."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tagsight.data.synthetic import render_collection


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def test_the_page_runs(repository: Path, tmp_path: Path) -> None:
    page = repository / "docs/howto/large.md"
    render_collection(tmp_path / "rendered", n_photos=16, seed=0)
    (tmp_path / "rendered/train").rename(tmp_path / "photos")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TAGSIGHT_CACHE": str(tmp_path / "cache")}
    commands = [["sh", "-c", line] for block in blocks(page, "sh") for line in block.splitlines()]
    assert len(commands) == 2
    commands += [[sys.executable, "-c", code] for code in blocks(page, "python")]
    models: list[bytes] = []
    for command in commands:
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, f"{command}\n{run.stderr}"
        models += [model.read_bytes() for model in tmp_path.glob("*.model")]
        assert not (tmp_path / "my.model.checkpoint").exists()
    assert len(set(models)) == 1
