"""The documentation covers the package: its folders, its pages and its code blocks."""

import re
from pathlib import Path

import pytest

EXECUTED = {
    "README.md": "tests/docs/test_readme.py",
    "docs/tutorial.md": "tests/docs/test_tutorial.py",
    "docs/explanation/index-format.md": "tests/docs/test_howto_find.py",
    "docs/extend/backbone.md": "tests/docs/test_extend.py",
    "docs/extend/exporter.md": "tests/docs/test_extend.py",
    "docs/extend/format.md": "tests/docs/test_extend.py",
    "docs/extend/method.md": "tests/docs/test_extend.py",
    "docs/howto/arrays.md": "tests/docs/test_howto_arrays.py",
    "docs/howto/backbones.md": "tests/docs/test_howto_backbones.py",
    "docs/howto/bench.md": "tests/bench/test_howto.py",
    "docs/howto/cluster.md": "tests/docs/test_howto_cluster.py",
    "docs/howto/export.md": "tests/cli/test_export.py",
    "docs/howto/find.md": "tests/docs/test_howto_find.py",
    "docs/howto/gpu.md": "tests/docs/test_howto_gpu.py",
    "docs/howto/large.md": "tests/docs/test_howto_large.py",
    "docs/howto/outlines.md": "tests/cli/test_refine.py",
    "docs/howto/python.md": "tests/docs/test_howto_python.py",
    "docs/howto/review.md": "tests/docs/test_howto_review.py",
    "docs/howto/serve.md": "tests/web/test_serve_guide.py",
    "docs/howto/starter.md": "tests/docs/test_howto_starter.py",
    "docs/howto/write-back.md": "tests/cli/test_write_back.py",
}
"""The test that runs the `python` and `sh` blocks of each page that has some."""

LANGUAGES = {
    "python": "run",
    "sh": "run",
    "": "output or file content",
    "console": "needs several machines, other programs, the repository's hosts or hours; test_console.py parses it",
    "py": "a program that needs the network; compiled by test_howto_backbones.py",
    "math": "an equation",
}
FENCE = re.compile(r"^ *```(?P<language>[^\n]*)\n.*?^ *```$", re.MULTILINE | re.DOTALL)


def list_pages(repository: Path) -> list[Path]:
    pages = sorted((repository / "docs").rglob("*.md"))
    return [repository / "README.md", *(page for page in pages if "_build" not in page.parts)]


def list_languages(page: Path) -> set[str]:
    return {fence["language"] for fence in FENCE.finditer(page.read_text(encoding="utf-8"))}


def test_every_page_with_code_has_a_test_that_runs_it(repository: Path) -> None:
    with_code = {
        str(page.relative_to(repository)) for page in list_pages(repository) if list_languages(page) & {"python", "sh"}
    }
    assert with_code == set(EXECUTED)


@pytest.mark.parametrize(("page", "test"), EXECUTED.items())
def test_the_test_of_a_page_reads_that_page(repository: Path, page: str, test: str) -> None:
    assert Path(page).name in (repository / test).read_text(encoding="utf-8")


def test_blocks_are_of_known_languages(repository: Path) -> None:
    languages = set().union(*(list_languages(page) for page in list_pages(repository)))
    assert {language for language in languages if not language.startswith("{")} <= set(LANGUAGES)


def test_unlabelled_blocks_hold_no_commands(repository: Path) -> None:
    commands = re.compile(r"^(tagsight|tagsight-bench|pip|python|git|export) ", re.MULTILINE)
    blocks = [
        (page.name, fence) for page in list_pages(repository) for fence in FENCE.finditer(page.read_text("utf-8"))
    ]
    unlabelled = [(name, fence[0]) for name, fence in blocks if fence["language"] == ""]
    assert 0 < len(unlabelled) < len(blocks)
    for name, block in unlabelled:
        assert not commands.search(block), f"{name}: {block}"


def test_the_architecture_page_and_its_picture_name_every_folder(repository: Path) -> None:
    package = repository / "src/tagsight"
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    page = (repository / "docs/explanation/architecture.md").read_text(encoding="utf-8")
    picture = (repository / "docs/images/architecture.svg").read_text(encoding="utf-8")
    assert folders
    assert {folder for folder in folders if f"`{folder}/`" not in page} == set()
    assert set(re.findall(r">(\w+)/</text>", picture)) == folders
