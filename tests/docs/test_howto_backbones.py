"""The commands and the Python of the page on networks run, in order, with a small network for DINO."""

import re
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from tagsight.demo import render_collection
from tagsight.features.network_spec import NetworkSpec, read_spec
from tests.networks import save_transformer
from tests.pages import make_environment, read_blocks


def write_example_spec(page: Path, folder: Path) -> None:
    (spec,) = re.findall(r"^```\n(\{\n.*?^\}\n)```$", page.read_text(), re.DOTALL | re.MULTILINE)
    (folder / "dino.json").write_text(spec)


@pytest.mark.slow
def test_the_page_runs(repository: Path, tmp_path: Path) -> None:
    page = repository / "docs/howto/backbones.md"
    render_collection(tmp_path / "rendered", n_photos=16, seed=0)
    (tmp_path / "rendered/train").rename(tmp_path / "photos")
    save_transformer(tmp_path / "dino.onnx", shape=(1, 3, 448, 448))
    write_example_spec(page, tmp_path)
    environment = make_environment(tmp_path / "cache")
    shell, python = read_blocks(page, "sh"), read_blocks(page, "python")
    assert len(shell) == len(python) == 2
    for lines, code in zip(shell, python, strict=True):
        commands = [["sh", "-ec", line] for line in lines.splitlines()] + [[sys.executable, "-c", code]]
        for command in commands:
            run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert run.returncode == 0, f"{command}\n{run.stderr}"
    assert not (tmp_path / "dino.onnx").exists()


def test_the_program_that_exports_a_network_compiles(repository: Path) -> None:
    (program,) = read_blocks(repository / "docs/howto/backbones.md", "py")
    compile(program, "export_dino.py", "exec")


def test_the_table_has_every_key_and_the_example_has_the_defaults(repository: Path, tmp_path: Path) -> None:
    page = repository / "docs/howto/backbones.md"
    rows = [line.split("|")[1] for line in page.read_text().splitlines() if line.startswith("| `")]
    keys = list(chain.from_iterable(row.replace("`", "").split(",") for row in rows))
    assert {key.strip() for key in keys} == set(NetworkSpec._fields)
    write_example_spec(page, tmp_path)
    default = NetworkSpec(outputs=("tokens",), patch_size=16, drop_tokens=1)
    assert read_spec(tmp_path / "dino.onnx") == default
