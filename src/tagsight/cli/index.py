"""tagsight index."""

from pathlib import Path
from typing import Annotated

import typer

from tagsight.cli.arguments import Address, AsJson, Backbone, Engine, Format, ModelFile, PhotoFolder, Split, Workers
from tagsight.cli.console import list_problems, print_json, show_text
from tagsight.engine.devices import check_engine, open_engine
from tagsight.index import build_index, list_source
from tagsight.index.sources import count_outside_links
from tagsight.predict.model_file import load_model
from tagsight.runtime.messages import print_message
from tagsight.runtime.progress import show_progress


def run(
    model: ModelFile,
    collection: Annotated[Path, typer.Argument(metavar="COLLECTION", help="Folder of photos, tagged or not.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="INDEX", help="Folder of the index.")],
    engine: Engine = "local",
    address: Address = None,
    workers: Workers = None,
    format: Format = None,
    split: Split = None,
    images: PhotoFolder = None,
    backbone: Backbone = None,
    json: AsJson = False,
) -> None:
    """Annotate every photo once, so that 'tagsight find' answers at once; later runs look at what changed."""
    source = list_source(collection, format=format, split=split, images=images)
    check_engine(engine, "cpu")
    trained = load_model(model, backbone=backbone)
    with open_engine(engine, address) as map_fn, show_progress() as report:
        built = build_index(trained, source, output, n_workers=workers, map_fn=map_fn, report=report)
    for repair in built.repairs:
        print_message(repair)
    list_problems(built.problems)
    if linked := count_outside_links(source):
        print_message(
            f"photos that are links and lead outside {str(source.root)!r}: {linked}; they are indexed and served"
        )
    facts = {
        "index": str(output),
        "photos": built.n_photos,
        "added": built.added,
        "changed": built.changed,
        "removed": built.removed,
        "left_out": len(built.problems),
    }
    if json:
        print_json(facts)
        return
    changes = f"{built.added} added, {built.changed} changed, {built.removed} removed, {len(built.problems)} left out"
    print(f"{show_text(str(output))}: {built.n_photos} photos ({changes})")
