"""Output to a terminal, a pipe or a log: escaped, in the encoding of the stream, and no longer than it is read."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tagsight.cli.console import show_text
from tagsight.runtime.messages import escape_text
from tagsight.runtime.progress import show_progress

from .conftest import Trained
from .test_errors import RUN

HOSTILE = b"a\x1b]0;x\x07\xc2\x9b2J\xff\xc3\xa9.jpg"
"""A title escape, a one-character control sequence, a byte that is not text, and a letter outside ASCII."""


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [*RUN, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, env=os.environ | environment)


@pytest.fixture
def hostile(trained: Trained, tmp_path: Path) -> Path:
    folder = tmp_path / "hostile"
    folder.mkdir()
    photo = next((trained.photos / "test").glob("*.jpg")).read_bytes()
    Path(os.fsdecode(os.fsencode(folder) + b"/" + HOSTILE)).write_bytes(photo)
    Path(os.fsdecode(os.fsencode(folder) + b"/broken " + HOSTILE)).write_bytes(b"nothing")
    return folder


ENCODINGS = [{"PYTHONIOENCODING": "utf-8"}, {"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONIOENCODING": ""}]


@pytest.mark.slow
@pytest.mark.parametrize("environment", ENCODINGS, ids=str)
def test_file_names_cannot_control_a_terminal(
    trained: Trained, hostile: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    for arguments in (("annotate", trained.model, hostile), ("segment", trained.model, hostile, "-o", tmp_path / "o")):
        ended = run(*arguments, **environment)
        assert ended.returncode == 0, ended.stderr
        for stream in (ended.stdout, ended.stderr):
            text = stream.decode("utf-8")
            assert text.replace("\n", "").isprintable()
            assert r"\x1b]0;x\x07" in text
    assert len(list((tmp_path / "o").glob("*.png"))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("environment", ENCODINGS, ids=str)
def test_json_is_valid_for_any_name_and_encoding(trained: Trained, hostile: Path, environment: dict[str, str]) -> None:
    ended = run("annotate", trained.model, hostile, "--json", **environment)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.decode("utf-8").replace("\n", "").isprintable()
    assert os.fsencode(json.loads(ended.stdout)["image"]) == os.fsencode(hostile) + b"/" + HOSTILE


def test_letters_outside_ascii_stay_readable_in_json() -> None:
    code = "from tagsight.cli.console import print_json; print_json({'a': 'caf\\u00e9'})"
    printed = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, env=os.environ | environment).stdout
        for environment in ENCODINGS[:2]
    ]
    assert printed == ['{"a": "café"}\n'.encode(), b'{"a": "caf\\u00e9"}\n']


def test_unprintable_characters_are_escaped() -> None:
    assert show_text("plain é.jpg") == escape_text("plain é.jpg") == "plain é.jpg"
    assert show_text("a\x1b.jpg") == r"'a\x1b.jpg'"
    assert escape_text("it says\n'\x9b2J' \udcff\u202e") == r"it says\n'\x9b2J' \udcff\u202e"


COMMANDS = {
    "factors": ["factors", "MODEL"],
    "json": ["factors", "MODEL", "--json"],
    "help": ["--help"],
    "version": ["--version"],
}


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_pipe_ends_the_command_without_an_error(trained: Trained, command: str, unbuffered: str) -> None:
    arguments = [str(trained.model) if word == "MODEL" else word for word in COMMANDS[command]]
    reading, writing = os.pipe()
    os.close(reading)
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    ended = subprocess.run([*RUN, *arguments], stdout=writing, stderr=subprocess.PIPE, env=environment)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_closed_pipe_does_not_hide_an_error(trained: Trained, hostile: Path) -> None:
    good, bad = sorted(hostile.iterdir())
    reading, writing = os.pipe()
    os.close(reading)
    arguments = ["annotate", trained.model, good, bad]
    environment = os.environ | {"PYTHONUNBUFFERED": ""}
    ended = subprocess.run([*RUN, *map(str, arguments)], stdout=writing, stderr=subprocess.PIPE, env=environment)
    os.close(writing)
    assert ended.returncode == 1
    assert ended.stderr.startswith(b"tagsight: left out ")


def test_work_continues_if_standard_error_is_closed(trained: Trained, hostile: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run([*RUN, "annotate", str(trained.model), str(hostile)], stdout=subprocess.PIPE, stderr=writing)
    os.close(writing)
    assert ended.returncode == 0
    assert ended.stdout.count(b"\n") > 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_output_that_cannot_be_written_is_an_error_in_one_sentence() -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([*RUN, "--version"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 1
    assert ended.stderr == "tagsight: cannot write to standard output: No space left on device\n"


@pytest.mark.parametrize("closing", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_not_an_error(trained: Trained, closing: str) -> None:
    command = [*RUN, "inspect", str(trained.photos / "train"), "--json"]
    ended = subprocess.run(["sh", "-c", f'"$@" {closing}', "sh", *command], capture_output=True)
    assert ended.returncode == 0
    if closing == "2>&-":
        assert json.loads(ended.stdout)["problems"] == []
    else:
        assert ended.stdout == b""


def report_all(stages: dict[str, tuple[int, int]]) -> None:
    with show_progress() as report:
        for stage, (last, total) in stages.items():
            for done in range(last + 1):
                report(stage, done, total)


def test_progress_in_a_log_is_lines(capsys: pytest.CaptureFixture[str]) -> None:
    report_all({"reading": (200, 200), "learning": (33, 100), "counting": (9, 0), "nothing": (0, 5)})
    messages = capsys.readouterr().err.splitlines()
    assert messages == [
        *(f"tagsight: reading: {done} of 200" for done in range(0, 201, 20)),
        *(f"tagsight: learning: {done} of 100" for done in (0, 10, 20, 30, 33)),
        *(f"tagsight: counting: {done}" for done in (0, 1, 2, 4, 8, 9)),
        "tagsight: nothing: 0 of 5",
    ]


PROGRESS = """
from tagsight.runtime.progress import show_progress
with show_progress() as report:
    for done in range(101):
        report("reading", done, 100)
"""


@pytest.mark.parametrize(("terminal", "escapes"), [("xterm", True), ("dumb", False)])
def test_progress_on_a_terminal_is_a_bar_unless_it_is_dumb(terminal: str, escapes: bool) -> None:
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": terminal}
    with subprocess.Popen([sys.executable, "-c", PROGRESS], stderr=theirs, env=environment):
        os.close(theirs)
        output = b""
        while chunk := read_terminal(ours):
            output += chunk
    os.close(ours)
    assert (b"\x1b[" in output) == escapes
    assert (b"tagsight: reading: 100 of 100" in output) != escapes


def read_terminal(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # Linux reports the other end closed as an error
        return b""
