"""Write docs/results.md, its curves and the README's table from the cells of `tagsight-bench`.

python benchmarks/results_page.py
"""

from pathlib import Path

from record import RESULTS
from tables import insert
from tagsight.features.extractor import FAMILIES
from tagsight.storage.files import write_atomically
from tagsight_bench.board import Board
from tagsight_bench.cells import read_cells
from tagsight_bench.curves import draw_curves
from tagsight_bench.page import ALL, render_digest, render_page

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def main() -> None:
    cells, quiet = (read_cells(RESULTS / name) for name in ("cells", "quiet"))
    images = DOCS / "images"
    for features in FAMILIES:
        curves = draw_curves(Board(cells, "apascal", features), ALL)
        if curves is not None:
            write_atomically(images / f"queries-{features}.svg", curves)
    insert(ROOT / "README.md", "digest", render_digest(cells))
    pictures = {path.name for path in images.iterdir()}
    write_atomically(DOCS / "results.md", render_page(cells, quiet, pictures).encode())


if __name__ == "__main__":
    main()
