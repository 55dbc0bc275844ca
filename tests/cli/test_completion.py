"""Completion in the shell: the installed script and its completions."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MAIN = "from tagsight.cli.main import main; main()"
NO_DETECTION = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # the shell is named by the test


@pytest.fixture
def tagsight(tmp_path: Path) -> Path:
    """The command, under the name that completion is installed for."""
    command = tmp_path / "bin/tagsight"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\n{MAIN}\n")
    command.chmod(0o755)
    return command


def run(*command: object, **environment: str) -> str:
    ended = subprocess.run([*map(str, command)], capture_output=True, text=True, env=os.environ | environment)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_the_installed_script_completes_commands_and_options(tagsight: Path, tmp_path: Path) -> None:
    run(tagsight, "--install-completion", "bash", HOME=str(tmp_path), **NO_DETECTION)
    (script,) = (tmp_path / ".bash_completions").iterdir()
    assert str(script) in (tmp_path / ".bashrc").read_text()

    def complete(*words: str) -> list[str]:
        line = f'source "$0"; COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}'
        shown = run("bash", "-c", f'{line}; _tagsight_completion {words[0]}; echo "${{COMPREPLY[@]}}"', script)
        return shown.split()

    assert complete(str(tagsight), "se") == ["segment", "serve"]
    assert complete(str(tagsight), "train", "--pre") == ["--preset"]


def test_command_names_are_completed_without_importing_any_command(tagsight: Path) -> None:
    code = f"""
import os, sys
sys.argv = [{str(tagsight)!r}]
os.environ |= {{"_TAGSIGHT_COMPLETE": "complete_bash", "COMP_WORDS": "tagsight x", "COMP_CWORD": "1"}}
try:
    {MAIN}
finally:
    assert "tagsight.cli.app" in sys.modules
    assert "numpy" not in sys.modules
"""
    assert run(sys.executable, "-c", code).strip() == ""


def test_the_script_of_each_shell_is_shown(tagsight: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_TAGSIGHT_COMPLETE" in run(tagsight, "--show-completion", shell, **NO_DETECTION)
