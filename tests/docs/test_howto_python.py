"""The code of the page on Python runs, as one script."""

import subprocess
import sys
from pathlib import Path

import pytest

from tagsight.demo import render_collection
from tests.pages import make_environment, read_blocks


@pytest.mark.slow
def test_the_page_runs(repository: Path, tmp_path: Path) -> None:
    render_collection(tmp_path / "rendered", n_photos=32, seed=0)
    (tmp_path / "rendered/train").rename(tmp_path / "photos")
    (tmp_path / "new").mkdir()
    first, second, *_ = sorted((tmp_path / "rendered/test").glob("*.jpg"))
    first.rename(tmp_path / "a.jpg")
    second.rename(tmp_path / "new/b.jpg")
    code = "\n".join(read_blocks(repository / "docs/howto/python.md", "python"))
    environment = make_environment(tmp_path / "cache")
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("<tagsight.Model: ")
    assert "b.jpg" in run.stdout
    assert "1 photos," in run.stdout
    assert "missing.model" in run.stdout.splitlines()[-1]
    for made in ("my.model", "outline.png", "out/instances_masks.json", "my.index/manifest.json"):
        assert (tmp_path / made).stat().st_size > 0
