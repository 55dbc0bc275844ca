"""The commands of docs/howto/serve.md run, and its description of the API is complete."""

import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tagsight.errors import InputError
from tagsight.index import open_index
from tagsight.web.server import listen
from tests.cli.conftest import call
from tests.web.conftest import WebFiles

MAIN = "from tagsight.cli.main import main; main()"


def test_the_commands_of_the_guide_run(repository: Path, web_files: WebFiles, tmp_path: Path) -> None:
    """The first command is left out, because the test of the tutorial runs it; a smaller model replaces its result."""
    text = (repository / "docs/howto/serve.md").read_text()
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert lines[0] in (repository / "docs/tutorial.md").read_text()
    (tmp_path / "demo/photos").mkdir(parents=True)
    (tmp_path / "demo/demo.model").symlink_to(web_files.model)
    (tmp_path / "demo/photos/train").symlink_to(web_files.photos)
    run = subprocess.run(
        [sys.executable, "-c", MAIN, *lines[1].split()[1:]], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-c", MAIN, *lines[2].split()[1:], "--port", str(port)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            assert f"http://127.0.0.1:{port}/" in server.stderr.readline()
            word = open_index(tmp_path / "demo.index").manifest.objects[0]
            assert fetch(f"http://127.0.0.1:{port}/?q={word}").status_code == 200
            described = fetch(f"http://127.0.0.1:{port}/openapi.json").json()["paths"]
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(30) in (0, 130, -signal.SIGINT)
    table = text[text.index("| request") :]
    for path in described:
        last = path.replace("{photo}", "7").replace("{factor}", "free-1").rsplit("/", 1)[1]
        assert "example_crops" in path or last in table, path


def fetch(address: str) -> httpx.Response:
    """The response, as soon as the server listens."""
    for _ in range(300):
        try:
            return httpx.get(address, timeout=60, trust_env=False)
        except httpx.ConnectError:
            time.sleep(0.1)
    return pytest.fail("the server does not listen")


def test_the_pictures_of_the_guide_exist_and_are_small(repository: Path) -> None:
    text = (repository / "docs/howto/serve.md").read_text()
    named = set(re.findall(r"\((\.\./pictures/[^)]+)\)", text))
    assert len(named) == 13
    for name in named:
        assert 0 < (repository / "docs/howto" / name).stat().st_size < 300_000, name


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["nowhere"], "there is no index in 'nowhere'"),
        (["nowhere", "--host", "0.0.0.0"], "set it with --token or TAGSIGHT_TOKEN"),
        (["nowhere", "--token", "short"], "12 or more"),
    ],
)
def test_invalid_options_are_reported_in_one_sentence(options: list[str], sentence: str) -> None:
    problem = call("serve", *options).exception
    assert sentence in str(problem)
    assert "\n" not in str(problem)


def test_a_port_in_use_is_reported_in_one_sentence() -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(InputError, match=r"cannot listen on 127\.0\.0\.1:.*--port"):
        listen("127.0.0.1", taken.getsockname()[1])
