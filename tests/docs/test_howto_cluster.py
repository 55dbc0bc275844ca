"""Every command of the page on clusters runs on a cluster of this machine; without Ray it fails with one sentence."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tagsight.demo import render_collection
from tests.pages import make_environment, read_blocks, read_commands


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed (tagsight[ray])")
def test_the_page_runs(repository: Path, tmp_path: Path) -> None:
    page = repository / "docs/howto/cluster.md"
    lines = read_commands(page)
    assert lines[0] == "pip install -e '.[ray]'  # in the project's folder; make setup has done it"
    assert len(lines) == 3
    render_collection(tmp_path / "rendered", n_photos=6, seed=0)
    (tmp_path / "rendered/train").rename(tmp_path / "photos")
    environment = make_environment(tmp_path / "cache")
    environment.pop("RAY_ADDRESS", None)
    commands = [["sh", "-c", line] for line in lines[1:]]
    commands += [[sys.executable, "-c", code] for code in read_blocks(page, "python")]
    assert len(commands) == 3
    for command in commands:
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, f"{command}\n{run.stderr}"
    for made in ("my.model", "photos.index/manifest.json"):
        assert (tmp_path / made).stat().st_size > 0
    assert not list((tmp_path / "cache/ray").iterdir())
