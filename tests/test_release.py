"""Files that repeat a version, an address or a name of the project agree."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def project(repository: Path) -> dict[str, Any]:
    return tomllib.loads((repository / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def citation(repository: Path) -> dict[str, str]:
    """The entries of CITATION.cff that are one line."""
    text = (repository / "CITATION.cff").read_text()
    return dict(re.findall(r"^([\w-]+): (.+)$", text, re.MULTILINE))


def test_the_three_version_numbers_are_equal(
    repository: Path, project: dict[str, Any], citation: dict[str, str]
) -> None:
    benchmarks = tomllib.loads((repository / "benchmarks/pyproject.toml").read_text())["project"]
    assert project["version"] == benchmarks["version"] == citation["version"]


def test_the_repository_has_one_address(repository: Path, project: dict[str, Any], citation: dict[str, str]) -> None:
    address = citation["repository-code"]
    assert project["urls"]["Repository"] == address
    assert all(project["urls"][name].startswith(f"{address}/") for name in ("Issues", "Changelog"))


def test_the_ruff_of_the_hooks_is_the_locked_one(repository: Path) -> None:
    hooks = (repository / ".pre-commit-config.yaml").read_text()
    (locked,) = re.findall(r"^ruff==(\S+)", (repository / "requirements.lock").read_text(), re.MULTILINE)
    assert re.findall(r"ruff-pre-commit\n +rev: v(\S+)", hooks) == [locked]


def test_every_python_of_the_classifiers_is_tested(repository: Path, project: dict[str, Any]) -> None:
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    workflow = (repository / ".github/workflows/tests.yml").read_text()
    (tested,) = re.findall(r"^ +python: \[(.+)\]$", workflow, re.MULTILINE)
    assert [version.strip('" ') for version in tested.split(",")] == named
    assert project["requires-python"] == f">={named[0]}"


def test_every_target_of_the_makefile_has_a_rule(repository: Path) -> None:
    text = (repository / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.+)$", text, re.MULTILINE)
    assert set(phony.split()) == set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
