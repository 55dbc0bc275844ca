"""Precision over recall as SVG, averaged over queries and seeds."""

from io import BytesIO

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from tagsight_bench.board import Board
from tagsight_bench.evaluation.queries import RECALLS
from tagsight_bench.methods import METHODS


def draw_curves(board: Board, attributes: int) -> bytes | None:
    """Pairs on the left, triples on the right, one line per method; None if there are no cells with queries."""
    cells = {method: board.cells("queries", attributes, method) for method in METHODS}
    if not any(cells.values()):
        return None
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, kind in zip(figure.subplots(1, 2, sharey=True), ("pairs", "triples"), strict=True):
        for method, of_method in cells.items():
            if of_method:
                precision = np.mean([cell["figures"][kind]["precision_at_recall"] for cell in of_method], axis=0)
                style = "-" if METHODS[method].supervision == "tags" else "--"
                axes.plot(RECALLS, precision, style, label=method)
        axes.set(title=kind, xlabel="recall", xlim=(0, 1), ylim=(0, 1))
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("precision")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside right center", fontsize="small")
    stream = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "tagsight"}):  # so that the same cells give the same file
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()
