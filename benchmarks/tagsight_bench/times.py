"""The time that each method takes, beside the paper's figures."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from tagsight_bench import paper
from tagsight_bench.board import NOT_RUN, Board, Cell, format_table
from tagsight_bench.methods import METHODS

TIME = """### Time

Seconds to fit a model to extracted features, and milliseconds to predict one photo, on an otherwise idle machine
(`benchmarks/results/quiet`). Fits are complete: all iterations and, with `tagsight` and the presets, a first fit to
four fifths of the photos for calibration on the rest. The README has the time of one iteration of the model.
Feature extraction takes the same time for all methods.
"""
COLUMNS = (
    "fit 2,113 photos, s",
    "prediction, ms",
    "fit 326 photos, s",
    "prediction, ms",
    "paper's fit",
    "paper's prediction",
)


def render_times(board: Board, n_attributes: int) -> list[str]:
    """The section on times for aPascal, from cells measured on an idle machine; empty without such cells."""
    columns = (("annotation", n_attributes), ("segmentation", 0))
    if not any(board.has_run(table, METHODS) for table, _ in columns):
        return []
    rows = []
    for method, entry in METHODS.items():
        row = [method]
        for table, attributes in columns:
            row += _time(board.cells(table, attributes, method)) if table in entry.tables else ["", ""]
        iteration, photo = paper.SECONDS_AN_ITERATION.get(method), paper.SECONDS_A_TEST_PHOTO.get(method)
        row += [f"{iteration} s per iteration" if iteration else "", f"{1e3 * photo:.0f} ms" if photo else ""]
        rows.append(row)
    return [TIME, format_table(("method", *COLUMNS), rows)]


def _time(cells: Sequence[Cell]) -> list[str]:
    if not cells:
        return [NOT_RUN, NOT_RUN]
    seconds: list[dict[str, Any]] = [cell["seconds"] for cell in cells]
    return [f"{median(s['fit'] for s in seconds):.1f}", f"{1e3 * median(s['predict_per_photo'] for s in seconds):.1f}"]
