"""tagsight demo."""

from pathlib import Path
from typing import Annotated

import typer

from tagsight.demo.run import run_demo
from tagsight.runtime.progress import show_progress

Output = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for photos, model and page.")]


def run(
    output: Output = Path("tagsight-demo"),
    photos: Annotated[int, typer.Option(min=20, help="Number of photos to render.")] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random choice.")] = 0,
) -> None:
    """Render a collection, train a model on its tags, and write a page that shows the predictions."""
    with show_progress() as report:
        page, scores = run_demo(output, n_photos=photos, seed=seed, report=report)
    print(f"object mIoU {100 * scores.object_miou:.1f}, adjectives bound to the right noun {scores.association:.0%}")
    print(f"open {page} in a browser")
