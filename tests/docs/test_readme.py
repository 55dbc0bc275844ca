"""The Python example and every shell line of the README run, in order, on a small collection with its words."""

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tagsight.demo import render_collection
from tests.pages import make_environment, read_blocks, read_commands
from tests.web.test_serve_guide import fetch

WORDS = {"car": "horse", "plain": "furry", "red": "brown"}  # of the rendered collection, and the README's instead


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with photos/, new/ and a.jpg."""
    render_collection(tmp_path / "rendered", n_photos=32, seed=0)
    photos = tmp_path / "photos"
    (tmp_path / "rendered/train").rename(photos)
    (tmp_path / "new").mkdir()
    for number, path in enumerate(sorted((tmp_path / "rendered/test").glob("*.jpg"))[:2]):
        path.rename(tmp_path / ("a.jpg" if number == 0 else "new/b.jpg"))
    listing = photos / "tags.csv"
    listing.write_text(re.sub(r"\w+", lambda found: WORDS.get(found[0], found[0]), listing.read_text()))
    return tmp_path


@pytest.mark.slow
def test_the_shell_lines_run(repository: Path, place: Path) -> None:
    page = repository / "README.md"
    lines = read_commands(page)
    assert len(lines) == 10
    environment = make_environment(place / "cache")
    for line in lines:
        if line.startswith("tagsight serve"):
            _serves(line, place, environment)
            continue
        run = subprocess.run(["sh", "-c", line], cwd=place, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, f"{line}\n{run.stderr}"
    for made in ("my.model", "masks/b.png", "masks/b.overlay.jpg", "factors.html", "my.index/manifest.json"):
        assert (place / made).stat().st_size > 0
    assert list((place / "out").iterdir())


@pytest.mark.slow
def test_the_python_example_runs(repository: Path, place: Path) -> None:
    (code,) = read_blocks(repository / "README.md", "python")
    environment = make_environment(place / "cache")
    command = [sys.executable, "-c", f"{code}\nprint(index.find('furry brown horse', top=20)[0].path)"]
    run = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    annotated, *_, best = run.stdout.splitlines()
    assert annotated.startswith("new/b.jpg [(")
    assert (place / "photos" / best).is_file()
    for made in ("my.model", "outline.png", "my.index/manifest.json"):
        assert (place / made).stat().st_size > 0


def _serves(line: str, place: Path, environment: dict[str, str]) -> None:
    """Whether the server of the line answers, on a free port so that tests do not collide."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = ["sh", "-c", f"exec {line.partition('#')[0]} --port {port}"]
    with subprocess.Popen(command, cwd=place, env=environment) as server:
        try:
            assert fetch(f"http://127.0.0.1:{port}/?q=furry+horse").status_code == 200
        finally:
            server.terminate()
