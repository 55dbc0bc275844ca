"""Commands that the tests cannot run, in `console` blocks and in text, exist and accept their options."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from tagsight.cli.app import load_command
from tagsight_bench.cli import make_app
from tests.pages import read_blocks

from .test_site import list_pages

OTHERS = {"export", "git", "pip", "ray"}  # programs of others
PROMPT = re.compile(r"^\s*(?:\w*\$\s+)?")


def read_console(page: Path) -> list[str]:
    lines = [line for block in read_blocks(page, "console") for line in block.splitlines()]
    return [PROMPT.sub("", line) for line in lines if line.strip()]


def list_targets(repository: Path) -> set[str]:
    makefile = (repository / "Makefile").read_text()
    return set(re.findall(r"^([a-z-]+):(?!=)", makefile, re.MULTILINE))


def check_command(line: str, page: Path, repository: Path) -> None:
    """Fail if a command does not exist or does not accept its arguments."""
    program, *arguments = shlex.split(line, comments=True)
    if program == "make":
        assert set(arguments) <= list_targets(repository), line
    elif program == "tagsight":
        load_command(arguments[0]).make_context(arguments[0], arguments[1:])
    elif program == "tagsight-bench":
        get_command(make_app()).make_context(program, arguments)
    elif program in {"python", ".venv/bin/python"}:
        assert (repository / arguments[0]).is_file() or f"`{arguments[0]}`" in page.read_text(), line
    else:
        assert program in OTHERS, line


def test_commands_in_console_blocks_exist(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGSIGHT_DATA", "/nowhere")
    pages = [page for page in list_pages(repository) if read_console(page)]
    assert repository / "README.md" in pages
    for page in pages:
        for line in read_console(page):
            check_command(line, page, repository)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("make dmo", "make dmo"),
        ("mak demo", "mak demo"),
        ("python no.py", "python no.py"),
        ("tagsight serv my.index", "tagsight.cli.serv"),
        ("tagsight serve my.index --prot 80", "No such option"),
        ("tagsight-bench --data demo", "Missing parameter: collection"),
    ],
)
def test_wrong_commands_are_found(repository: Path, line: str, reason: str) -> None:
    with pytest.raises(Exception, match=reason):
        check_command(line, repository / "README.md", repository)


def test_targets_named_in_text_exist(repository: Path) -> None:
    pages = [*list_pages(repository), repository / "CONTRIBUTING.md"]
    named = {target for page in pages for target in re.findall(r"`make ([a-z-]+)`", page.read_text())}
    assert len(named) > 5
    assert named <= list_targets(repository)
