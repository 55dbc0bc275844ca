"""The types of the public API as the checker of a program sees them, and the types declared for other libraries."""

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_type_hints

import pytest

import tagsight.regions.hierarchy  # imports higra as this package does
from tagsight.api import IndexArguments
from tagsight.training.options import TrainArguments

TYPINGS = Path(__file__).parents[1] / "typings"
OPTIONAL_LIBRARIES = {"ray", "torch", "triton"}
# The modules of GPU kernels: Triton compiles their functions, whose parameters have no types.
KERNEL_MODULES = {
    f"engine/cuda/{name}.py" for name in ("special", "stick_kernels", "sum_kernel", "summary_kernel", "sweep_kernel")
}
OPT_OUT = re.compile(r"^# pyright: (basic|standard|off)\b|^# pyright: ignore|^# type: ignore", re.MULTILINE)

# A program in which the strict checker accepts no value of unknown type.
PROGRAM = """
from pathlib import Path
from typing import assert_type

import numpy as np
import tagsight
from PIL import Image

model = tagsight.train("photos/", seed=1, memory="2GB", progress=False)
model = tagsight.load("my.model", backbone=Path("network.onnx")).save("copy.model")
assert_type(model, tagsight.Model)
for photo in model.annotate(["a.jpg", Path("b.jpg"), Image.new("RGB", (8, 8)), np.zeros((8, 8, 3), np.uint8)]):
    assert_type(photo, tagsight.AnnotatedPhoto)
    print(photo.path, [(one.name, one.score, [a.name for a in one.attributes]) for one in photo.objects])
described = model.describe("a.jpg", "horse", box=(0, 0, 9, 9))
print(described.score, described.box, [one.score for one in described.attributes])
outline = model.segment("a.jpg")
assert_type(outline.names, tuple[str, ...])
print(outline.labels.shape, outline.overlay().size, outline.encode_mask())
features, prediction = model.predict("a.jpg")
print(features.size, prediction.photo.max())
summary = model.export("new/", "out/", format="coco")
print(summary.n_photos, [problem.reason for problem in summary.refused])
index = model.index("photos/", "my.index", n_workers=2)
assert_type(index, tagsight.Index)
built = model.update_index("photos/", "my.index")
print(built.added, built.n_photos)
for hit in tagsight.open_index("my.index").find("furry brown horse", top=20):
    assert_type(hit.score, float)
    print(hit.path, [(match.region, match.box) for match in hit.matches])
print([hit.path for hit in index.find_similar(3, region=2, top=5)], index.labels(3), index.count("horse"), index.names)
print([(factor.name, factor.share, factor.correlated) for factor in model.list_factors()])
options = tagsight.TrainOptions.from_preset("ws-sibp", seed=2)
print(options.n_free, model.objects, model.problems)
estimator = tagsight.StackedIBP(n_objects=2).fit(np.zeros((4, 3)), np.ones((1, 2)))
print(estimator.infer(np.zeros((4, 3))).assign)
try:
    model.segment("a.jpg")
except tagsight.UnreadablePhotoError as error:
    print(error.path, error.reason)
"""


def check_strictly(program: str, folder: Path) -> list[str]:
    """The errors that the strict checker finds in a program."""
    (folder / "program.py").write_text(program)
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "include": ["program.py"]}')
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson", "-p", str(folder)]
    report = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
    assert report["summary"]["filesAnalyzed"] == 1
    return [found["message"] for found in report["generalDiagnostics"] if found["severity"] == "error"]


def test_a_program_of_the_public_names_has_no_unknown_type(tmp_path: Path) -> None:
    assert check_strictly(PROGRAM, tmp_path) == []


def test_a_program_with_a_wrong_type_is_refused(tmp_path: Path) -> None:
    wrong = 'import tagsight\n\nlabel: int = tagsight.load("my.model").segment("a.jpg").names\n'
    (error,) = check_strictly(wrong, tmp_path)
    assert '"tuple[str, ...]" is not assignable to "int"' in error


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        ('tagsight.train("photos/", n_fre=3)', 'No parameter named "n_fre"'),
        ('tagsight.train("photos/", n_free="three")', '"n_free"'),
        ('tagsight.load("my.model").index("photos/", "my.index", n_worker=2)', 'No parameter named "n_worker"'),
        ('tagsight.load("my.model").update_index("photos/", "my.index", split=2)', '"split"'),
    ],
)
def test_an_option_with_a_wrong_name_or_type_is_refused(tmp_path: Path, call: str, complaint: str) -> None:
    (error,) = check_strictly(f"import tagsight\n\n{call}\n", tmp_path)
    assert complaint in error


def test_the_keyword_arguments_of_a_training_are_the_fields_of_its_options() -> None:
    fields = get_type_hints(tagsight.TrainOptions)
    assert get_type_hints(TrainArguments) == {**fields, "memory": fields["memory"] | str}  # also text such as 2GB


def test_the_keyword_arguments_of_an_index_are_the_fields_of_its_options() -> None:
    assert get_type_hints(IndexArguments) == get_type_hints(tagsight.IndexOptions)


def is_kernel(function: ast.FunctionDef) -> bool:
    """Whether Triton compiles the function."""
    return "triton.jit" in map(ast.unparse, function.decorator_list)


def test_only_modules_of_gpu_kernels_are_not_checked_strictly(repository: Path) -> None:
    settings = tomllib.loads((repository / "pyproject.toml").read_text())["tool"]["pyright"]
    assert settings["strict"] == ["src/tagsight"]
    source = repository / "src/tagsight"
    modules = [path for path in source.rglob("*.py") if OPT_OUT.search(path.read_text())]
    assert {path.relative_to(source).as_posix() for path in modules} == KERNEL_MODULES
    functions = [
        (path.name, node)
        for path in modules
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]
    assert [(name, node.name) for name, node in functions if not is_kernel(node)] == []


def list_declarations() -> list[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """The public functions and classes declared in `typings`, each with its module."""
    found: list[tuple[str, ast.FunctionDef | ast.ClassDef]] = []
    for path in sorted(TYPINGS.rglob("*.pyi")):
        parts = path.relative_to(TYPINGS).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                found.append((module, node))
    return found


@pytest.mark.parametrize(
    ("module", "declared"), list_declarations(), ids=lambda value: value if isinstance(value, str) else value.name
)
def test_what_is_declared_for_a_library_is_in_it(module: str, declared: ast.FunctionDef | ast.ClassDef) -> None:
    if module.split(".")[0] in OPTIONAL_LIBRARIES:
        pytest.importorskip(module.split(".")[0])
    found = getattr(importlib.import_module(module), declared.name)
    if isinstance(declared, ast.ClassDef):
        methods = [one for one in declared.body if isinstance(one, ast.FunctionDef)]
        assert [method.name for method in methods if not hasattr(found, method.name)] == []
        return
    try:
        parameters = inspect.signature(found).parameters
    except ValueError:
        return  # a compiled function without a signature
    names = [one.arg for one in (*declared.args.args, *declared.args.kwonlyargs)]
    open_ended = any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters.values())
    assert open_ended or [name for name in names if name not in parameters] == []
