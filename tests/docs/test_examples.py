"""Every example runs, and every Python block of the README is one of them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("[0-9]*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(path), str(tmp_path / "out")]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MPLBACKEND": "Agg"})
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()


def test_the_quick_start_finds_nearly_all() -> None:
    run = subprocess.run([sys.executable, str(EXAMPLES[0])], capture_output=True, text=True, check=True)
    share = float(re.match(r"([\d.]+)% of all", run.stdout)[1])  # pyright: ignore[reportOptionalSubscript]
    assert share > 99


def test_python_blocks_of_the_readme_are_examples(repository: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (repository / "README.md").read_text(), re.DOTALL)
    sources = {path.read_text() for path in EXAMPLES}
    assert blocks
    assert set(blocks) <= sources
