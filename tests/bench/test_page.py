"""The page of results, rendered from generated cells."""

from pathlib import Path
from typing import Any

import pytest

from tagsight_bench import paper
from tagsight_bench.board import Board
from tagsight_bench.cells import read_cells
from tagsight_bench.curves import draw_curves
from tagsight_bench.methods import METHODS
from tagsight_bench.page import render_digest, render_page


def make_cell(
    table: str, method: str, figures: dict[str, Any] | None, *, seed: int = 0, attributes: int = 64, **settings: str
) -> dict[str, Any]:
    known = {"collection": "apascal", "features": "deep", "on": "test", **settings}
    return {
        "settings": {"table": table, "method": method, "seed": seed, "attributes": attributes, **known},
        "machine": {"cpu": "abacus", "cores": 3},
        "seconds": {"fit": 12.0, "predict_per_photo": 0.0034},
        "figures": figures,
    }


def annotate(share: float) -> dict[str, Any]:
    return {
        "ap_at": {"2": share, "5": share, "8": share},
        "given_name_map": share,
        "given_location_map": share,
        "given_location_auc": share,
    }


def find_rows(page: str, heading: str) -> dict[str, list[str]]:
    """The first table after a heading: cells of each row by its first."""
    lines = page.split(heading, 1)[1].split("\n|", 1)[1].split("\n\n", 1)[0].splitlines()
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in rows}


def test_mean_standard_deviation_and_the_best_weak_method() -> None:
    cells = [make_cell("annotation", "wsvm", annotate(share), seed=s) for s, share in enumerate((0.3, 0.4, 0.5))]
    cells += [make_cell("annotation", "miml", annotate(0.35)), make_cell("annotation", "ssvm", annotate(0.9))]
    cells.append(make_cell("annotation", "wlda", annotate(0.99), on="validation"))
    rows = find_rows(render_page(cells, (), ()), "### Annotation")
    assert rows["wsvm"][:2] == ["**40.0** ± 10.0", "24.8"]
    assert rows["miml"][:2] == ["35.0", "28.7"]
    assert rows["ssvm"][:2] == ["90.0", "40.6"]
    assert rows["wlda"][:2] == ["not run", "30.7"]
    assert rows["ws-mrf-sibp"][-3:] == ["not run", "81.5", "not run"]
    assert list(rows) == ["method", "---", *(name for name in METHODS if name != "supervised")]


def test_segmentation_has_one_column_per_attribute_set() -> None:
    cells = [
        make_cell("segmentation", "ws-mrf-sibp", {"miou": n / 100, "object_miou": 0.5}, attributes=n)
        for n in (0, 8, 64, 74)
    ]
    rows = find_rows(render_page(cells, (), ()), "### Segmentation")
    assert rows["ws-mrf-sibp"] == ["0.0", "23.6", "8.0", "27.3", "64.0", "28.9", "74.0", "29.4", "not run", "not run"]
    assert rows["wsdc"] == ["not run", "18.2", "", "", "", "", "", "", "", "not run"]
    assert "ssvm" not in rows


def test_cannot_differs_from_not_run() -> None:
    accuracy = {"pixel_accuracy": 0.5, "class_accuracy": 0.25}
    cells = [
        make_cell("inductive", "wsdc", accuracy, attributes=0, collection="labelme"),
        make_cell("transductive", "wsdc", None, attributes=0, collection="labelme"),
    ]
    rows = find_rows(render_page(cells, (), ()), "## LabelMe Outdoor (ADE labels), deep")
    assert rows["wsdc"] == ["50.0", "19.3", "25.0", "25.0", "cannot", "", "cannot", "", "not run", "", "not run", ""]
    assert rows["supervised"][4:] == [""] * 8


def test_ablations_are_listed_below_the_full_model() -> None:
    cells = [
        make_cell("annotation", "ws-mrf-sibp", annotate(0.4)),
        make_cell("annotation", "no-spatial-field", annotate(0.3)),
        make_cell("segmentation", "no-spatial-field", {"miou": 0.2, "object_miou": 0.1}),
    ]
    page = render_page(cells, (), ())
    rows = find_rows(page, "### Ablations")
    assert rows["ws-mrf-sibp"][0] == "**40.0**"
    assert rows["no-spatial-field"] == ["30.0"] * 6 + ["not run"] * 3 + ["20.0"]
    assert "The default of `tagsight train`" not in page
    of_default = make_cell("segmentation", "no-attribute-distance", {"miou": 0.2, "object_miou": 0.1})
    page = render_page([*cells, of_default], (), ())
    assert find_rows(page, "The default of")["no-attribute-distance"] == [""] * 9 + ["20.0"]


def test_optional_tables_without_cells_are_left_out() -> None:
    page = render_page([make_cell("annotation", "ws-mrf-sibp", annotate(0.4))], (), ())
    assert "### Annotation" in page
    assert "### Ablations" not in page
    assert "dense CRF" not in page
    refined = [make_cell("refined", "supervised", {"miou": 0.5}, attributes=0)]
    assert find_rows(render_page(refined, (), ()), "dense CRF")["supervised"] == ["50.0", ""]


def test_times_are_shown_beside_those_of_the_paper() -> None:
    cells = [make_cell("annotation", "ws-mrf-sibp", annotate(0.4))]
    assert "### Time" not in render_page(cells, (), ())
    page = render_page((), cells, ())
    rows = find_rows(page, "### Time")
    assert rows["ws-mrf-sibp"] == ["12.0", "3.4", "not run", "not run", "80 s per iteration", "200 ms"]
    assert rows["wlda"][-2:] == ["65 s per iteration", ""]
    assert page.count("### Time") == 1


def test_the_machine_and_existing_pictures_are_shown() -> None:
    page = render_page([make_cell("annotation", "wsvm", annotate(0.4))], (), {"queries-deep.svg"})
    assert "Machine: abacus, 3 cores." in page
    assert "images/queries-deep.svg" in page
    assert "images/queries-classic.svg" not in page
    assert "panels.jpg" not in page


def test_only_families_of_features_that_were_measured_have_tables() -> None:
    without = make_cell("annotation", "wsvm", annotate(0.4), features="deep-small")
    page = render_page([without], (), ())
    assert "## aPascal, deep-small features" in page
    assert "## aPascal, deep features" not in page
    assert "## aPascal, classic features" not in page
    assert "`deep` features are those of EfficientNet-Lite2, `deep-small`" in page
    page = render_page([without, make_cell("annotation", "wsvm", annotate(0.5))], (), ())
    assert find_rows(page, "## aPascal, deep features")["wsvm"][0] == "50.0"
    assert find_rows(page, "## aPascal, deep-small features")["wsvm"][0] == "40.0"
    only_classic = render_page([make_cell("annotation", "wsvm", annotate(0.4), features="classic")], (), ())
    assert "EfficientNet" not in only_classic


def test_the_digest_has_figures_of_the_default_features() -> None:
    cells = [
        make_cell("annotation", "wsvm", annotate(share), features=f)
        for f, share in (("deep", 0.5), ("deep-small", 0.4))
    ]
    assert "50.0" in render_digest(cells)
    assert "40.0" not in render_digest(cells)


def test_imagenet_has_the_papers_figures_with_and_without_cells() -> None:
    cells = [make_cell("annotation", "wsvm", annotate(0.4), attributes=25, collection="imagenet")]
    rows = find_rows(render_page(cells, (), ()), "## ImageNet Attribute")
    figures = ["40.0", "46.3", "40.0", "41.1", "40.0", "37.5", "40.0", "32.4", "40.0", "37.7", "40.0", "", "not run"]
    assert rows["wsvm"] == figures
    assert rows["ssvm"][:2] == ["not run", "65.9"]


def test_every_method_of_the_paper_is_in_the_registry() -> None:
    quoted = {*paper.APASCAL, *paper.IMAGENET, *paper.MIOU, *paper.LABELME, *paper.SECONDS_AN_ITERATION}
    assert quoted <= set(METHODS)


def test_the_committed_page_is_that_of_the_cells(repository: Path) -> None:
    cells, quiet = (read_cells(repository / "benchmarks/results" / name) for name in ("cells", "quiet"))
    pictures = {path.name for path in (repository / "docs/images").iterdir()}
    assert (repository / "docs/results.md").read_text() == render_page(cells, quiet, pictures), (
        "run benchmarks/results_page.py"
    )
    assert render_digest(cells) in (repository / "README.md").read_text(), "run benchmarks/results_page.py"


def test_the_same_cells_give_the_same_curves() -> None:
    pytest.importorskip("matplotlib")
    half = {"precision_at_recall": [0.5] * 101}
    board = Board([make_cell("queries", "wsvm", {"pairs": half, "triples": half})], "apascal", "deep")
    first = draw_curves(board, 64)
    assert first is not None
    assert first.startswith(b"<?xml")
    assert first == draw_curves(board, 64)
    assert draw_curves(Board([], "apascal", "deep"), 64) is None
