"""Every shell line of the tutorial runs, in order, and leaves what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path


def test_the_tutorial_runs(repository: Path, tmp_path: Path) -> None:
    text = (repository / "docs/tutorial.md").read_text()
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert len(lines) == 9
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TAGSIGHT_CACHE": str(tmp_path / "cache")}
    for line in lines:
        run = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, f"{line}\n{run.stderr}"
        if line.startswith("head "):
            assert f"```\n{run.stdout}```" in text
    for made in (
        "demo/index.html",
        "my.model",
        "answers.jsonl",
        "masks/0030.png",
        "masks/0030.overlay.jpg",
        "factors.html",
    ):
        assert (tmp_path / made).stat().st_size > 0
