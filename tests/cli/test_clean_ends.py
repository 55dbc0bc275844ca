"""Commands and scripts end without unexpected output, such as leaks that a library reports at exit."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tagsight.cli.main import ADVICE

from .conftest import Trained, call

MAIN = "from tagsight.cli.main import main; main()"
EXPECTED = re.compile(r"tagsight: (warning: .+|[a-z ]+: \d+( of \d+)?)")  # a warning, or progress
SERVE = """
import sys
from pathlib import Path
from urllib.request import ProxyHandler, build_opener
from tagsight.index import open_index
from tests.web.serving import serve_in_thread

index = open_index(Path(sys.argv[1]))
with serve_in_thread(index) as address:
    assert build_opener(ProxyHandler({})).open(f"{address}/?q={index.manifest.objects[0]}").status == 200
"""


@pytest.fixture(scope="module")
def index(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ends") / "a.index"
    assert call("index", trained.model, trained.photos / "train", "-o", folder, "--workers", 1).exit_code == 0
    return folder


def list_unexpected(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.strip() and not EXPECTED.fullmatch(line.strip())]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["train", "index", "find", "annotate", "segment", "factors"])
def test_a_command_prints_nothing_unexpected(command: str, trained: Trained, index: Path, tmp_path: Path) -> None:
    photo = next((trained.photos / "test").glob("*.jpg"))
    train = (trained.photos / "train", "-o", tmp_path / "a.model", "--free", 2, "--regions", 30)
    arguments = {
        "train": train,
        "index": (trained.model, trained.photos / "train", "-o", tmp_path / "a.index", "--workers", 2),
        "find": (index, "mug"),
        "annotate": (trained.model, photo),
        "segment": (trained.model, photo, "-o", tmp_path),
        "factors": (trained.model, "-o", tmp_path / "factors.html"),
    }[command]
    run = subprocess.run(
        [sys.executable, "-c", MAIN, command, *map(str, arguments)], capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stderr
    assert list_unexpected(run.stderr) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_server_ends_with_one_sentence(number: signal.Signals, index: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-c", MAIN, "serve", str(index), "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        assert "(Ctrl-C ends it)" in server.stderr.readline()
        server.send_signal(number)
        stderr = server.communicate()[1]
    assert stderr == f"tagsight: stopped by {number.name}; run the same command to serve again\n"
    assert server.returncode == 128 + number


def test_a_script_that_served_an_index_prints_nothing_at_exit(repository: Path, index: Path) -> None:
    run = subprocess.run([sys.executable, "-c", SERVE, str(index)], cwd=repository, capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


INTERRUPTED = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == f"tagsight.cli.{sys.argv[1]}":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupt())
from tagsight.cli.main import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["train", "index", "segment", "export", "annotate", "demo"])
def test_ctrl_c_while_a_command_is_imported_stops_it(command: str, trained: Trained, tmp_path: Path) -> None:
    """Libraries drop a KeyboardInterrupt during their import; the command stops before its first photo."""
    arguments = {
        "train": (trained.photos / "train", "-o", tmp_path / "a.model", "--free", 2, "--regions", 30),
        "index": (trained.model, trained.photos / "train", "-o", tmp_path / "a.index"),
        "segment": (trained.model, trained.photos / "test", "-o", tmp_path),
        "export": (trained.model, trained.photos / "test", "-o", tmp_path, "--format", "coco"),
        "annotate": (trained.model, trained.photos / "test"),
        "demo": ("-o", tmp_path / "demo", "--photos", 20),
    }[command]
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, command, *map(str, arguments)], capture_output=True, text=True
    )
    assert run.returncode == 130, run.stderr
    assert list_unexpected(run.stderr) == [f"tagsight: stopped by SIGINT; {ADVICE[command]}"]
    assert run.stdout == ""
