"""The architecture: imports point one way, public names are listed, and every module has a docstring."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tagsight

PACKAGE = Path(tagsight.__file__).parent

# Folders and files of the package's root, in layers: each may import those before it, none beside or after it.
LAYERS = [
    {"types", "errors"},
    {"runtime"},
    {"storage", "model", "regions"},
    {"data"},
    {"features", "engine"},
    {"estimator", "classifiers"},
    {"predict"},
    {"pictures"},
    {"training", "index", "export"},
    {"review"},
    {"api"},
    {"web", "demo"},
    {"cli"},
    {"__init__"},
]
LONGEST_FUNCTION = 60  # lines, with its decorators
MOST_ROOT_MODULES = 5  # besides `__init__`
HEAVY_AND_OPTIONAL = [
    "torch",
    "ray",
    "fastapi",
    "uvicorn",
    "matplotlib",
    "onnxruntime",
    "onnx",
    "cv2",
]


def layer_of(module: str) -> int:
    _, *inside = module.split(".")
    name = inside[0] if inside else "__init__"
    return next(depth for depth, names in enumerate(LAYERS) if name in names)


def list_runtime_imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports at module level and inside functions, without those for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for other in node.orelse:
                yield from list_runtime_imports(other)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        else:
            yield from list_runtime_imports(node)


def name_imported(node: ast.Import | ast.ImportFrom, module: str, is_package: bool) -> list[str]:
    """The full names that a statement in a module imports: modules, and names in modules."""
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    base = [node.module] if node.module else []
    if node.level:
        parents = module.split(".")
        base = [*parents[: len(parents) + is_package - node.level], *base]
    return [".".join([*base, one.name]) for one in node.names]


def imports_of(path: Path, package: Path = PACKAGE, *, runtime: bool = False) -> list[str]:
    """The names of the package that a module imports, at all or at run time."""
    here = module_name(path, package)
    tree = ast.parse(path.read_text())
    everywhere = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    nodes = list_runtime_imports(tree) if runtime else everywhere
    found = [name for node in nodes for name in name_imported(node, here, path.name == "__init__.py")]
    return [name for name in found if name.split(".")[0] == package.name]


def module_name(path: Path, package: Path = PACKAGE) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def find_cycle(package: Path) -> list[str]:
    """The modules of a cycle of imports; empty without one."""
    modules = {module_name(path, package): path for path in package.rglob("*.py")}
    graph = {
        name: {one if one in modules else one.rpartition(".")[0] for one in imports_of(path, package, runtime=True)}
        - {name}
        for name, path in modules.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def find_folder_cycle(package: Path) -> list[str]:
    """The folders of a cycle of imports below the package's root; empty without one.

    The root is left out: `types` and `errors` lie beside the folders that use them (see LAYERS).
    """
    folder_of = {module_name(path, package): module_name(path.parent, package) for path in package.rglob("*.py")}
    graph: dict[str, set[str]] = {}
    for path in package.rglob("*.py"):
        here = module_name(path.parent, package)
        for one in imports_of(path, package, runtime=True):
            there = folder_of.get(one) or folder_of.get(one.rpartition(".")[0])
            if there not in (None, here, package.name) and here != package.name:
                graph.setdefault(here, set()).add(there)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: module_name(path))
def test_imports_point_one_way(path: Path) -> None:
    here = module_name(path)
    for imported in imports_of(path):
        same = imported.split(".")[1:2] == here.split(".")[1:2]
        assert same or layer_of(imported) < layer_of(here), f"{here} imports {imported}"


def test_no_modules_import_each_other() -> None:
    assert find_cycle(PACKAGE) == []


@pytest.mark.parametrize(
    ("one", "other", "cyclic"),
    [
        ("from made.parts import b", "import made.parts.a", True),
        ("from .b import name", "from . import a", True),
        ("from made.parts.b import name", "def call():\n    from made.parts.a import other", True),
        ("from made.parts import b", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import a", False),
        ("from made.parts import b", "import ast", False),
    ],
)
def test_a_cycle_within_a_folder_is_found(tmp_path: Path, one: str, other: str, cyclic: bool) -> None:
    folder = tmp_path / "made/parts"
    folder.mkdir(parents=True)
    (tmp_path / "made/__init__.py").touch()
    (folder / "__init__.py").touch()
    (folder / "a.py").write_text(one)
    (folder / "b.py").write_text(other)
    assert set(find_cycle(tmp_path / "made")) == ({"made.parts.a", "made.parts.b"} if cyclic else set())


def test_no_folders_import_each_other() -> None:
    assert find_folder_cycle(PACKAGE) == []


@pytest.mark.parametrize(("inner", "cyclic"), [("from made.parts.b import name", True), ("import ast", False)])
def test_a_cycle_of_a_folder_and_one_inside_it_is_found(tmp_path: Path, inner: str, cyclic: bool) -> None:
    folder = tmp_path / "made/parts/inner"
    folder.mkdir(parents=True)
    for place in (folder, folder.parent, folder.parent.parent):
        (place / "__init__.py").touch()
    (folder.parent / "a.py").write_text("def call():\n    from made.parts.inner.c import other")
    (folder.parent / "b.py").touch()
    (folder / "c.py").write_text(inner)
    assert set(find_folder_cycle(tmp_path / "made")) == ({"made.parts", "made.parts.inner"} if cyclic else set())


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: module_name(path))
def test_every_module_has_a_docstring(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_the_public_names_are_sorted_and_exist() -> None:
    assert tagsight.__all__ == sorted(tagsight.__all__)
    for name in tagsight.__all__:
        assert getattr(tagsight, name).__doc__


def test_importing_tagsight_loads_nothing_optional_or_heavy() -> None:
    code = "import sys, tagsight; print([n for n in sys.argv[1:] if n in sys.modules])"
    command = [sys.executable, "-c", code, *HEAVY_AND_OPTIONAL]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_the_model_imports_arrays_only() -> None:
    outside = {"pathlib", "os", "sys", "json", "cv2", "PIL", "higra", "onnxruntime", "rich", "typer"}
    modules = list((PACKAGE / "model").glob("*.py"))
    assert len(modules) > 5
    for path in modules:
        tree = ast.parse(path.read_text())
        names = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        names |= {(n.module or "").split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        assert not names & outside, path
        assert "print(" not in path.read_text(), path


def count_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function from its first decorator to its end."""
    first = min(node.lineno for node in (function, *function.decorator_list))
    return (function.end_lineno or 0) - first + 1


def test_the_lines_of_a_function_include_its_decorators() -> None:
    (function,) = ast.parse("@first\n@second(\n    1\n)\ndef call():\n    return 1\n").body
    assert isinstance(function, ast.FunctionDef)
    assert count_lines(function) == 6


@pytest.mark.parametrize("folder", ["src", "benchmarks", "tests"])
def test_no_function_is_longer_than_a_page(repository: Path, folder: str) -> None:
    long = [
        f"{path.relative_to(repository)}:{node.lineno} {node.name} has {length} lines"
        for path in sorted((repository / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (length := count_lines(node)) > LONGEST_FUNCTION
    ]
    assert long == []


def test_few_modules_lie_at_the_root_of_the_package() -> None:
    assert len([path for path in PACKAGE.glob("*.py") if path.name != "__init__.py"]) <= MOST_ROOT_MODULES


def test_the_root_has_only_expected_files(repository: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=repository, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    roots = {line.split("/")[0] for line in listed.stdout.splitlines()}
    allowed = {
        ".ci", ".github", ".gitignore", ".pre-commit-config.yaml", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md",
        "LICENSE", "Makefile", "README.md", "SECURITY.md", "benchmarks", "docs", "pyproject.toml", "requirements.lock",
        "src", "tests", "typings",
    }  # fmt: skip
    assert roots <= allowed
