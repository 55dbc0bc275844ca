"""Every command of review.md runs, in order, and so does its Python."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import make_environment, read_blocks, read_commands

PREPARE = [
    "tagsight train photos -o my.model --free 2 --regions 30",
    "tagsight index my.model photos -o photos.index --workers 1",
]


@pytest.mark.slow
def test_the_page_runs(repository: Path, tmp_path: Path) -> None:
    from tagsight.demo import render_collection

    page = repository / "docs/howto/review.md"
    render_collection(tmp_path / "rendered", n_photos=32, seed=0)
    (tmp_path / "rendered/train").rename(tmp_path / "photos")
    environment = make_environment(tmp_path / "cache")
    lines = read_commands(page)
    assert len(lines) == 16
    for line in [*PREPARE, *lines]:
        run = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, f"{line}\n{run.stderr}"
        if "--top 5" in line:
            assert 1 <= len(run.stdout.splitlines()) <= 5, line
        if "--withdraw" in line:
            suggested = (tmp_path / "suggested.jsonl").read_text().splitlines()
            assert f": {len(suggested)} decision" in run.stdout
            assert json.loads(suggested[0])["score"] >= 0.2
        if line.startswith("tagsight train photos -o reviewed"):
            assert "applies 2 decisions of the journal" in run.stderr
    table = (tmp_path / "decisions.csv").read_text().splitlines()
    assert [row.split(",")[:4] for row in table[1:]] == [
        ["0003.jpg", "attribute", "striped", "no"],
        ["0003.jpg", "object", "fish", "yes"],
    ]
    run = subprocess.run(
        [sys.executable, "-c", *read_blocks(page, "python")],
        cwd=tmp_path, env=os.environ | environment, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) == 3
