"""The Python example and every shell line of the README run, in order, on a small collection with its words."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import make_environment, read_blocks, read_commands
from tests.web.test_serve_guide import fetch


@pytest.mark.slow
def test_the_shell_lines_run(repository: Path, example_photos: Path) -> None:
    page = repository / "README.md"
    lines = read_commands(page)
    assert len(lines) == 10
    environment = make_environment(example_photos / "cache")
    for line in lines:
        if line.startswith("tagsight serve"):
            _serves(line, example_photos, environment)
            continue
        run = subprocess.run(["sh", "-c", line], cwd=example_photos, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, f"{line}\n{run.stderr}"
    for made in ("my.model", "masks/b.png", "masks/b.overlay.jpg", "factors.html", "my.index/manifest.json"):
        assert (example_photos / made).stat().st_size > 0
    assert list((example_photos / "out").iterdir())


@pytest.mark.slow
def test_the_python_example_runs(repository: Path, example_photos: Path) -> None:
    (code,) = read_blocks(repository / "README.md", "python")
    environment = make_environment(example_photos / "cache")
    command = [sys.executable, "-c", f"{code}\nprint(index.find('furry brown horse', top=20)[0].path)"]
    run = subprocess.run(command, cwd=example_photos, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    annotated, *_, best = run.stdout.splitlines()
    assert annotated.startswith("new/b.jpg [(")
    assert (example_photos / "photos" / best).is_file()
    for made in ("my.model", "outline.png", "my.index/manifest.json"):
        assert (example_photos / made).stat().st_size > 0


def _serves(line: str, example_photos: Path, environment: dict[str, str]) -> None:
    """Whether the server of the line answers, on a free port so that tests do not collide."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = ["sh", "-c", f"exec {line.partition('#')[0]} --port {port}"]
    with subprocess.Popen(command, cwd=example_photos, env=environment) as server:
        try:
            assert fetch(f"http://127.0.0.1:{port}/?q=furry+horse").status_code == 200
        finally:
            server.terminate()
