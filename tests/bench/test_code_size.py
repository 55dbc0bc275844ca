"""The counts of `benchmarks/code_size.py`, on a small folder."""

import os
import subprocess
from pathlib import Path

import pytest
from benchmarks.code_size import ROOT, Size, count_code, measure_defs, measure_packages, measure_size, unpack

LONG = "def long():\n" + "    x = 0\n" * 60  # 61 lines
DECORATED = "@cache\n@other\nasync def decorated():\n" + "    x = 0\n" * 58  # 61 with its decorators
OUTER = "class A:\n    def outer(self):\n        def inner():\n            pass\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    files = {
        "src/tagsight/__init__.py": "x = 1\n",
        "src/tagsight/api.py": LONG,
        "src/tagsight/model/__init__.py": "",
        "src/tagsight/model/fit.py": DECORATED + "\n",
        "src/tagsight/model/short.py": OUTER,
        "src/tagsight/model/fifty.py": "x = 1\n" * 50,
        "src/tagsight/model/table.json": "{}\n",
        "tests/test_fit.py": "\nx = 1",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_code_is_counted(source: Path) -> None:
    assert count_code(source) == {
        "files": {"src": 6, "benchmarks": 0, "tests": 1},
        "lines": {"src": 1 + 61 + 0 + 62 + 4 + 50, "benchmarks": 0, "tests": 2},
        "modules": 4,
        "modules_at_the_root": 1,
        "median_module_lines": (50 + 61) / 2,
        "modules_of_50_lines_or_fewer": 2,
        "functions_above_60_lines": {"src": 2, "benchmarks": 0, "tests": 0},
    }


def test_functions_begin_at_their_decorators_and_inner_ones_count(source: Path) -> None:
    assert list(measure_defs(source / "src/tagsight/model/fit.py")) == [61]
    assert sorted(measure_defs(source / "src/tagsight/model/short.py")) == [2, 3]


def test_sizes_are_lengths_of_files_and_blocks_on_disk(tmp_path: Path) -> None:
    for name, n_bytes in {"a/b/c.bin": 10_000, "a/d.py": 1, "pip/e.py": 5, "pip-1.dist-info/f": 5, "one.py": 7}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(n_bytes))
    sizes = measure_packages(tmp_path)
    assert {name: size.length for name, size in sizes.items()} == {"a": 10_001, "one.py": 7}
    blocks = [512 * path.lstat().st_blocks for path in (tmp_path / "a", *(tmp_path / "a").rglob("*"))]
    assert len(blocks) == 4
    assert sizes["a"].on_disk == sum(blocks)
    os.symlink("d.py", tmp_path / "a/link")
    assert measure_size(tmp_path / "a").length == 10_001 + len("d.py"), "the file is counted once"
    assert measure_size(tmp_path / "one.py") == Size(7, 512 * (tmp_path / "one.py").lstat().st_blocks)


def test_a_revision_is_unpacked_as_committed(tmp_path: Path) -> None:
    if subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True).returncode:
        pytest.skip("not a git checkout")
    commit = unpack("HEAD", tmp_path / "source")
    shown = subprocess.run(["git", "show", f"{commit}:pyproject.toml"], cwd=ROOT, capture_output=True, check=True)
    assert (tmp_path / "source/pyproject.toml").read_bytes() == shown.stdout
