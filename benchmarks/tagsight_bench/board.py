"""A table of results, methods by figures, from cells.

The standard deviation is over seeds (n - 1); a single seed has none. The best mean of a column among weakly supervised
methods is bold. A figure that was not run, or that a method cannot give, is marked; a figure that does not apply to the
method is empty.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from statistics import mean, stdev
from typing import Any, NamedTuple

from tagsight_bench.collections import COLLECTIONS
from tagsight_bench.methods import find_entry
from tagsight_bench.plan import choose_sizes

Cell = dict[str, Any]
Pick = Callable[[dict[str, Any]], float | None]  # a figure of a cell
NOT_RUN, CANNOT = "not run", "cannot"


class Column(NamedTuple):
    """A column: its cells and figure, and the paper's figure for each method."""

    title: str
    collection: str
    table: str
    attributes: int
    pick: Pick
    paper: dict[str, str] | None = None  # None: the paper has no such column


class Board:
    """Cells of one collection, measured on test photos with one kind of features."""

    def __init__(self, cells: Iterable[Cell], collection: str, features: str):
        self._cells: dict[tuple[str, int, str], list[Cell]] = {}
        for cell in cells:
            settings = cell["settings"]
            if (settings["collection"], settings["features"], settings["on"]) == (collection, features, "test"):
                key = (settings["table"], settings["attributes"], settings["method"])
                self._cells.setdefault(key, []).append(cell)

    def cells(self, table: str, attributes: int, method: str) -> list[Cell]:
        """The cells of a method, one per seed."""
        return self._cells.get((table, attributes, method), [])

    def has_run(self, table: str, methods: Container[str]) -> bool:
        """Whether there is a cell of any of the methods in a table."""
        return any(known == table and method in methods for known, _, method in self._cells)

    def values(self, column: Column, method: str) -> list[float] | None:
        """A figure over seeds; None in a cell of a method that cannot give it, empty if nothing was run."""
        cells = self.cells(column.table, column.attributes, method)
        if any(cell["figures"] is None for cell in cells):
            return None
        found = [column.pick(cell["figures"]) for cell in cells]
        return [value for value in found if value is not None]


def tabulate(board: Board, methods: Sequence[str], columns: Sequence[Column]) -> str:
    """A Markdown table of the methods that have a figure in at least one column."""
    shown = [method for method in methods if any(_applies(column, method) for column in columns)]
    best = [_find_best(board, column, shown) for column in columns]
    names = ["method"]
    for column in columns:
        names += [column.title, "paper"] if column.paper is not None else [column.title]
    rows = []
    for method in shown:
        row = [method]
        for column, winner in zip(columns, best, strict=True):
            row.append(_format_figure(board, column, method, bold=method == winner))
            if column.paper is not None:
                row.append(column.paper.get(method, ""))
        rows.append(tuple(row))
    return format_table(tuple(names), rows)


def _applies(column: Column, method: str) -> bool:
    entry = find_entry(method)
    return column.table in entry.tables and column.attributes in choose_sizes(
        entry, COLLECTIONS[column.collection].tables[column.table]
    )


def _find_best(board: Board, column: Column, methods: Sequence[str]) -> str | None:
    weak = {method: board.values(column, method) for method in methods if find_entry(method).supervision == "tags"}
    means = {method: mean(values) for method, values in weak.items() if values}
    return max(means, key=lambda method: means[method]) if len(means) > 1 else None


def _format_figure(board: Board, column: Column, method: str, *, bold: bool) -> str:
    if not _applies(column, method):
        return ""
    values = board.values(column, method)
    if values is None:
        return CANNOT
    if not values:
        return NOT_RUN
    middle = f"{100 * mean(values):.1f}"
    spread = f" ± {100 * stdev(values):.1f}" if len(values) > 1 else ""
    return f"**{middle}**{spread}" if bold else middle + spread


def format_table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is left-aligned, figures are right-aligned."""
    lines = [names, ["---"] + ["---:"] * (len(names) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
