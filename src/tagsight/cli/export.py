"""tagsight export."""

from pathlib import Path
from typing import Annotated

import typer

from tagsight.cli.arguments import Backbone, MaskThreshold, ModelAndImages
from tagsight.cli.console import show_text
from tagsight.cli.model_choice import open_model, split_photos
from tagsight.export import FORMATS
from tagsight.export.record import ATTRIBUTE_THRESHOLD


def run(
    paths: ModelAndImages,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="Folder for the files.")],
    format: Annotated[str, typer.Option(help=f"Format of the files: {', '.join(FORMATS)}.")],
    threshold: MaskThreshold = 0.0,
    attribute_threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Leave out attributes that are less probable.")
    ] = ATTRIBUTE_THRESHOLD,
    connected: Annotated[
        bool,
        typer.Option(
            "--connected/--per-object",
            help="What an instance is: one connected piece of an object, or all pieces of one object.",
        ),
    ] = True,
    backbone: Backbone = None,
) -> None:
    """Write the objects of photos, with outlines, scores and attributes, for other programs."""
    model, images = split_photos(paths)
    summary = open_model(model, backbone).export(
        images,
        output,
        format=format,
        threshold=threshold,
        attribute_threshold=attribute_threshold,
        connected=connected,
    )
    print(f"{show_text(str(output))}: {summary.n_objects} objects found in {summary.n_photos} photos")
    if summary.refused or any(problem.path in images for problem in summary.unreadable):
        raise typer.Exit(1)
