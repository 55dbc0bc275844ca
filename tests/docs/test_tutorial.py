"""Every shell line of the tutorial runs, in order, and writes the files that the page names."""

import subprocess
from pathlib import Path

import pytest

from tests.pages import make_environment, read_commands


@pytest.mark.slow
def test_the_tutorial_runs(repository: Path, tmp_path: Path) -> None:
    page = repository / "docs/tutorial.md"
    text = page.read_text()
    lines = read_commands(page)
    assert len(lines) == 9
    environment = make_environment(tmp_path / "cache")
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
