"""Every shell line of the how-to runs, in order."""

import os
import re
import subprocess
import sys
from pathlib import Path


def test_the_howto_runs(repository: Path, howto_method: str, tmp_path: Path) -> None:
    text = (repository / "docs/howto/bench.md").read_text()
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert len(lines) == 3
    (tmp_path / "nearest.py").write_text(howto_method)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TAGSIGHT_CACHE": str(tmp_path / "cache")}
    for line in lines:
        line = line.replace("PYTHONPATH=.", f"PYTHONPATH=.{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        run = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, f"{line}\n{run.stderr}"
    (named,) = re.findall(r"`(results/rendered/\S+json)`", text)
    assert (tmp_path / named).exists()
    assert len(list(tmp_path.glob("results/rendered/*/*/*/*.json"))) == 4
