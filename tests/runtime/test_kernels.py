"""A cached kernel is never used after a change of a source from which it was compiled."""

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tagsight.runtime import kernels
from tests.flips import flip_bits

HELPER = """
from tagsight.runtime.kernels import kernel

@kernel()
def helper():
    return {value}
"""
CALLER = """
from stamped_helper import helper
from tagsight.runtime.kernels import kernel

@kernel()
def caller():
    return helper()
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of the package for the stamp of the sources."""
    for folder in ("features", "model", "regions", "runtime"):
        (tmp_path / folder).mkdir()
    (tmp_path / "runtime/kernels.py").write_text("c = 1\n")
    (tmp_path / "model/numerics.py").write_text("a = 1\n")
    (tmp_path / "model" / "sticks.py").write_text("b = 1\n")
    monkeypatch.setattr(kernels, "__file__", str(tmp_path / "runtime/kernels.py"))
    return tmp_path


@pytest.mark.parametrize(
    "name",
    ["runtime/kernels.py", "model/numerics.py", "model/sticks.py", "model/new.py", "regions/new.py", "features/new.py"],
)
def test_the_stamp_depends_on_every_source_of_kernels(package: Path, name: str):
    before = kernels.stamp_sources()
    assert kernels.stamp_sources() == before
    (package / name).write_text("a = 2\n")
    assert kernels.stamp_sources() != before


def test_all_kernels_are_in_the_folders_of_the_stamp():
    package = Path(kernels.__file__).parents[1]
    homes = {path.relative_to(package).parts[0] for path in package.rglob("*.py") if "@kernel(" in path.read_text()}
    assert homes == set(kernels.FOLDERS)


def test_no_module_compiles_kernels_with_a_decorator_of_numba():
    """Those of Numba would be cached without the stamp and the verification, or not at all."""
    package = Path(kernels.__file__).parents[1]
    importing = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom) and "numba" in _list_packages(node)
    }
    assert importing == {"runtime/kernels.py"}


def _list_packages(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The top-level packages of an import statement."""
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return [name.partition(".")[0] for name in names]


def test_another_stamp_is_another_key(monkeypatch: pytest.MonkeyPatch):
    from tagsight.model.numerics import digamma

    codegen = digamma.targetctx.codegen()
    key = digamma._cache._index_key((), codegen)
    assert digamma._cache._index_key((), codegen) == key
    monkeypatch.setattr(kernels, "STAMP", "another")
    assert digamma._cache._index_key((), codegen) != key


def test_a_caller_is_compiled_again_if_its_callee_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Numba's own cache would return 1 twice, since the file of the caller did not change."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "stamped_caller.py").write_text(CALLER)
    for value in (1, 2):
        (tmp_path / "stamped_helper.py").write_text(HELPER.format(value=value))
        monkeypatch.setattr(kernels, "STAMP", f"sources with {value}")
        assert _import_anew("stamped_caller").caller() == value


def test_a_cached_kernel_is_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "stamped_helper.py").write_text(HELPER.format(value=3))
    (tmp_path / "stamped_caller.py").write_text(CALLER)
    for hits in (0, 1):
        caller = _import_anew("stamped_caller").caller
        assert caller() == 3
        assert sum(caller.stats.cache_hits.values()) == hits


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_entry_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "stamped_helper.py").write_text(HELPER.format(value=4))
    (tmp_path / "stamped_caller.py").write_text(CALLER)
    first = _import_anew("stamped_caller").caller
    assert first() == 4
    (entry,) = Path(first.stats.cache_path).glob(f"stamped_caller.caller-*{suffix}")
    whole = entry.read_bytes()
    for damaged in (b"", whole[:20], whole[: len(whole) // 2], *flip_bits(whole, 10)):
        entry.write_bytes(damaged)
        for hits in (0, 1):
            caller = _import_anew("stamped_caller").caller
            assert caller() == 4
            assert sum(caller.stats.cache_hits.values()) == hits


def _import_anew(name: str) -> ModuleType:
    for module in ("stamped_helper", name):
        sys.modules.pop(module, None)
    importlib.invalidate_caches()
    return importlib.import_module(name)
