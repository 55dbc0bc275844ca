"""The page on the default has figures of the results page, and names existing files."""

import re
from pathlib import Path

import pytest

NAMES = {
    "nothing": "tagsight",
    "no smoothing": "no-smoothing",
    "no photo classifier": "no-photo-classifier",
    "no model": "no-model",
    "no attribute distance in the similarity graph": "no-attribute-distance",
    "no fields in the model": "no-fields",
    "no attribute likelihood": "no-attribute-likelihood",
    "no height prior": "no-height-prior",
    "no attribute prior": "no-attribute-prior",
    "attributes of the most probable region only": "by-region",
    "no fields, smoothing, attribute likelihood or attribute prior": "no-fields-at-all",
}
GIVEN_NAME, MEAN_IOU = 3, -1  # columns of the ablation table


def read_rows(text: str) -> list[list[str]]:
    """Cells of the table rows after the rule."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs/explanation/default.md").read_text(encoding="utf-8")


def test_ablation_figures_equal_those_of_the_results_page(repository: Path, page: str) -> None:
    results = (repository / "docs/results.md").read_text(encoding="utf-8")
    ablations = results.split("### Ablations")[1].split("The default of `tagsight train`")[1].split("\n### ")[0]
    measured = {name: cells for name, *cells in read_rows(ablations)}
    table = read_rows(page.split("<!-- part-table -->")[1].split("<!-- /part-table -->")[0])
    assert {row[0] for row in table} == set(NAMES)
    for label, iou, given_name in table:
        cells = measured[NAMES[label]]
        for quoted, cell in ((iou, cells[MEAN_IOU]), (given_name, cells[GIVEN_NAME])):
            assert quoted in ("", cell.split(" ")[0].strip("*")), label


def test_the_page_has_at_most_150_lines(page: str) -> None:
    assert len(page.splitlines()) <= 150


def test_named_files_exist(repository: Path, page: str) -> None:
    files = re.findall(r"`(classifiers/\w+\.py)`", page)
    assert files
    assert [name for name in files if not (repository / "src/tagsight" / name).is_file()] == []
