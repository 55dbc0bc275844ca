"""The page on the model names existing code, with the stated shapes."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tagsight import StackedIBP
from tagsight.model import assignments, global_step, photo_step, sticks
from tagsight.model.bound import Bound
from tagsight.model.layout import Edges, Shard, lay_out
from tagsight.model.settings import STICK_ORDERS, STICK_SPANS, STICKS, Factors, Settings, plan_sticks
from tagsight.model.start import STARTS, start_local

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "model.md").read_text(encoding="utf-8")
REFERENCES = sorted(set(re.findall(r"`([\w/]+)\.py: ([\w.]+)`", PAGE)))
FUNCTIONS = {
    "lay_out": lay_out,
    "update_tau": sticks.update_tau,
    "expect_logs": sticks.expect_logs,
    "solve_appearance": global_step.solve_appearance,
    "sweep_assignments": assignments.sweep_assignments,
}
SIZES = {"I": 3, "N": 12, "D": 5, "K": 7, "E": 9, "S": 3}


class Row(NamedTuple):
    name: str
    shape: str


def section(number: int) -> str:
    """The text of one numbered section."""
    return PAGE.split(f"\n## {number}. ")[1].split("\n## ")[0]


def table_rows(text: str) -> Iterator[list[str]]:
    """Cells of every table row but headings and rules."""
    lines = text.splitlines()
    for line, after in pairwise([*lines, ""]):
        if line.startswith("|") and not line.startswith("|-") and not after.startswith("|-"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


NOTATION = [
    Row(name, cells[2])
    for cells in table_rows(section(2))
    for name in re.findall(r"`([^`]+)`", cells[1]) or [f"no code name in {cells}"]
]
FIELDS = [row for row in NOTATION if "(" not in row.name]
PARAMETERS = [row.name for row in NOTATION if "(" in row.name]


@pytest.fixture(scope="module")
def records() -> dict[str, Any]:
    """A record of each kind, from a tiny fit with a different length on every axis."""
    I, N, D, E = SIZES["I"], SIZES["N"], SIZES["D"], SIZES["E"]  # noqa: E741
    X = np.random.default_rng(0).normal(size=(N, D))
    tags = np.eye(I, 4, dtype=np.uint8)
    groups = np.repeat(np.arange(I), N // I)
    pairs = np.array([[j, j + 1] for j in range(N - 1) if groups[j] == groups[j + 1]])
    edges = Edges(pairs, np.ones(E))
    model = StackedIBP(3, 1, 3, tol=1.0, noise="full").fit(X, tags, groups=groups, edges=pairs)
    result = model._learned
    settings = Settings(Factors(3, 1, 3))
    plan = plan_sticks(settings)
    layout = lay_out(groups, np.hstack([tags, np.ones((I, 3), np.uint8)]), edges, plan)
    shard = Shard(X, layout)
    fill = STARTS["tags"]([shard], settings.factors, 0)
    K = settings.factors.total
    return {
        "StackedIBP": model,
        "Inference": model.infer(X, groups=groups),
        "SummaryStatistics": result.summary,
        "Globals": result.state,
        "Appearance": result.state.appearance,
        "Scales": result.state.scales,
        "Sparsity": result.state.sparsity,
        "Settings": settings,
        "Factors": settings.factors,
        "StickPlan": plan,
        "Edges": edges,
        "Layout": layout,
        "Shard": shard,
        "Local": start_local(shard, fill, np.ones(plan.n_sequences), plan),
        "Potentials": photo_step.Potentials(
            np.zeros((K, D)), np.zeros(K), np.zeros((K, K)), np.zeros((K, K)), 1.0, 1.0, np.ones(plan.n_sequences)
        ),
    }


def test_page_is_parsed():
    assert len(REFERENCES) >= 50
    assert len(FIELDS) >= 35
    assert len(PARAMETERS) >= 8


@pytest.mark.parametrize(("file", "name"), REFERENCES)
def test_reference_exists(file: str, name: str):
    attrgetter(name)(import_module("tagsight." + file.replace("/", ".")))


def test_every_colon_reference_has_the_checked_form():
    loose = [
        text
        for text in re.findall(r"`([^`\n]*\.py[^`\n]*)`", PAGE)
        if ": " not in text and not text.startswith("benchmarks/")
    ]
    assert loose == []
    assert len(re.findall(r"\.py: ", PAGE)) == len(re.findall(r"`[\w/]+\.py: [\w.]+`", PAGE))


@pytest.mark.parametrize("row", FIELDS, ids=lambda row: row.name)
def test_notation_field_exists_with_its_shape(row: Row, records: dict[str, Any]):
    record, _, field = row.name.partition(".")
    shape = np.shape(getattr(records[record], field))
    if row.shape == "flat":
        assert len(shape) == 1
    elif row.shape == "scalar":
        assert shape == ()
    else:
        letters = re.findall(r"\w+", row.shape)
        assert row.shape.startswith("(")
        assert shape == tuple(SIZES[letter] if letter in SIZES else int(letter) for letter in letters)


@pytest.mark.parametrize("name", PARAMETERS)
def test_notation_parameter_exists(name: str):
    function, parameter = name.rstrip(")").split("(")
    kernel = FUNCTIONS[function]
    assert parameter in inspect.signature(getattr(kernel, "py_func", kernel)).parameters


def test_bound_table_lists_the_fields_in_order():
    named = [cells[0].strip("`") for cells in table_rows(section(5))]
    assert named == list(Bound._fields)


def test_starts_table_lists_every_start():
    named = re.findall(r"^\| `(\w+)` \(`model/start\.py: start_(\w+)`\)", section(8), re.MULTILINE)
    assert named == [(name, name) for name in STARTS]


def test_choices_are_all_named():
    text = section(7)
    assert [name for name in (*STICKS, *STICK_ORDERS, *STICK_SPANS) if f"`{name}`" not in text] == []


def test_the_table_of_starts_has_markers():
    assert 0 < PAGE.index("<!-- starts-table -->") < PAGE.index("<!-- /starts-table -->")


def test_differences_are_numbered_without_gaps():
    numbers = [int(n) for n in re.findall(r"^(\d+)\. \*\*", section(10), re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 14
