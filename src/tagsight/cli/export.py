"""tagsight export."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tagsight.cli.arguments import Backbone, Images, ModelFile
from tagsight.cli.chosen_photos import PhotoPredictor, choose_photos
from tagsight.cli.console import list_problems, show_text
from tagsight.data.collection import Problem
from tagsight.errors import InputError
from tagsight.export import FORMATS, choose_format, write_export
from tagsight.export.naming import find_root, name_photo
from tagsight.export.output import Target
from tagsight.export.record import ATTRIBUTE_THRESHOLD, ExportedPhoto, record_photo
from tagsight.predict.model_file import load_model
from tagsight.runtime.progress import show_progress


def run(
    model: ModelFile,
    images: Images,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="Folder for the files.")],
    format: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}.")],
    threshold: Annotated[float, typer.Option(min=0.0, max=1.0, help="Less probable is background.")] = 0.0,
    attribute_threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Leave out attributes less probable.")
    ] = ATTRIBUTE_THRESHOLD,
    connected: Annotated[
        bool, typer.Option("--connected/--per-object", help="An instance is a connected piece, or all of one name.")
    ] = True,
    backbone: Backbone = None,
) -> None:
    """Write the objects of photos, with outlines, scores and attributes, for other tools."""
    chosen = choose_format(format)
    trained = load_model(model, backbone=backbone)
    viewer = PhotoPredictor(trained)
    chosen_photos = choose_photos(images)
    inputs = [photo.path for photo in chosen_photos]
    root = find_root(images)
    found: dict[str, int] = {}  # objects of each photo
    problems: list[Problem] = []

    def leave_out(problem: Problem) -> None:
        list_problems([problem])
        problems.append(problem)

    def record() -> Iterator[ExportedPhoto]:
        for path, photo, posterior in viewer.predict_chosen(chosen_photos):
            try:
                name = name_photo(path, root)
            except InputError as error:
                leave_out(Problem(path, str(error)))
                continue
            if name in found:
                continue  # named twice
            record = record_photo(
                trained, photo, posterior, path=path, name=name,
                threshold=threshold, attribute_threshold=attribute_threshold, connected=connected,
            )  # fmt: skip
            found[name] = len(record.instances)
            yield record
            report("photos", len(found), 0)

    with show_progress() as report:
        for problem in write_export(record(), chosen, Target(trained.vocabulary, output), inputs):
            leave_out(problem)
    print(f"{show_text(str(output))}: {sum(found.values())} objects found in {len(found)} photos")
    if viewer.n_failed or problems:
        raise typer.Exit(1)
