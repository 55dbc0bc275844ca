"""tagsight demo."""

from pathlib import Path
from typing import Annotated

import typer

from tagsight.demo.run import run_demo
from tagsight.runtime.progress import show_progress


def run(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for everything.")] = Path(
        "tagsight-demo"
    ),
    photos: Annotated[int, typer.Option(min=20, help="Photos to render.")] = 300,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Render a collection, learn it from its tags, and leave a page that shows what was found."""
    with show_progress() as report:
        page, scores = run_demo(output, n_photos=photos, seed=seed, report=report)
    print(f"object mIoU {100 * scores.object_miou:.1f}, adjectives bound to the right noun {scores.association:.0%}")
    print(f"look at {page}")
