"""Every command of the page on finding photos runs, in order, and so does its Python; so does the index page's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tagsight.data.readers import open_collection
from tagsight.demo import render_collection
from tagsight.predict.model_file import save_model
from tagsight.training.options import TrainOptions
from tagsight.training.pipeline import train
from tests.pages import read_blocks, read_commands


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `my.model` and `photos/`."""
    monkeypatch.setenv("TAGSIGHT_CACHE", str(tmp_path / "cache"))
    render_collection(tmp_path / "rendered", n_photos=32, seed=0)
    collection = open_collection(tmp_path / "rendered/train")
    save_model(train(collection, TrainOptions(n_free=2, n_regions=30, n_workers=1)).model, tmp_path / "my.model")
    (tmp_path / "rendered/train").rename(tmp_path / "photos")
    return tmp_path


@pytest.mark.slow
def test_the_page_runs(repository: Path, place: Path) -> None:
    page = repository / "docs/howto/find.md"
    lines = read_commands(page)
    assert len(lines) == 9
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in lines:
        run = subprocess.run(
            ["sh", "-c", line], cwd=place, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        assert run.returncode == 0, f"{line}\n{run.stderr}"
        assert 1 <= len(run.stdout.splitlines()) <= 5 or "--top 5" not in line, line
    for made in ("photos.index/manifest.json", "found.html", "found.jsonl"):
        assert (place / made).exists()
    for code, n_lines in (
        (read_blocks(page, "python"), 5),
        (read_blocks(repository / "docs/explanation/index-format.md", "python"), 5),
    ):
        run = subprocess.run([sys.executable, "-c", *code], cwd=place, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        assert len(run.stdout.splitlines()) >= n_lines
