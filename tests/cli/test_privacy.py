"""Nothing is sent to other machines: no command but `serve` opens an Internet socket, nor do its libraries."""

import http.client
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.no_network import SOCKET_CALL

from .conftest import Trained, call

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in SOCKET_CALL, reason="seccomp filters are of Linux"
)
TAGSIGHT = [sys.executable, "-c", "from tagsight.cli.main import main; main()"]


def run_without_network(*command: object, home: Path) -> subprocess.CompletedProcess[str]:
    wrapped = [sys.executable, "-m", "tests.no_network", *map(str, command)]
    return subprocess.run(wrapped, capture_output=True, text=True, env={**os.environ, "HOME": str(home)})


def test_the_filter_kills_a_process_that_opens_a_socket(tmp_path: Path) -> None:
    internet = run_without_network(sys.executable, "-c", "import socket; socket.socket()", home=tmp_path)
    assert internet.returncode == -signal.SIGSYS
    local = run_without_network(sys.executable, "-c", "import socket; socket.socketpair()", home=tmp_path)
    assert local.returncode == 0


@pytest.mark.slow
def test_no_command_opens_a_socket(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGSIGHT_CACHE", str(tmp_path / "cache"))  # empty: workers extract features
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    home = tmp_path / "home"
    home.mkdir()
    photos = sorted((trained.photos / "train").glob("*.jpg"))
    model, index = tmp_path / "a.model", tmp_path / "a.index"
    commands = (
        ("train", trained.photos / "train", "-o", model, "--free", 1, "--regions", 20, "--workers", 2),
        ("annotate", model, photos[0]),
        ("annotate", photos[0]),
        ("segment", model, photos[0], "-o", tmp_path / "masks"),
        ("index", model, trained.photos / "train", "-o", index, "--workers", 2),
        ("find", index, "free-1"),
    )
    for command in commands:
        done = run_without_network(*TAGSIGHT, *command, home=home)
        assert done.returncode == 0, (command, done.returncode, done.stderr)
    assert not [path for path in home.rglob("*") if "onnxruntime" in path.name]


@pytest.mark.slow
def test_the_server_opens_no_connection(trained: Trained, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    photos = trained.photos / "test"
    assert call("index", trained.model, photos, "-o", tmp_path / "a.index", "--workers", 1).exit_code == 0
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [*TAGSIGHT, "serve", str(tmp_path / "a.index"), "--port", str(port)]
    wrapped = [sys.executable, "-m", "tests.no_network", "--server", *command]
    server = subprocess.Popen(wrapped, stderr=subprocess.PIPE, text=True, env={**os.environ, "HOME": str(home)})
    try:
        for path, body in (
            ("/", None),
            ("/photos/0", None),
            ("/api/annotate", next(photos.glob("*.jpg")).read_bytes()),
        ):
            assert ask(server, port, path, body) == 200
    finally:
        server.terminate()
        server.communicate()


def ask(server: subprocess.Popen[str], port: int, path: str, body: bytes | None) -> int:
    """The status that the server answers with, as soon as it listens."""
    while server.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("GET" if body is None else "POST", path, body)
            return connection.getresponse().status
        except ConnectionRefusedError:
            time.sleep(0.05)
        finally:
            connection.close()
    raise AssertionError((server.returncode, server.communicate()[1]))
