"""tagsight bench."""

from pathlib import Path
from typing import Annotated

import typer

from tagsight.bench.collections import COLLECTIONS
from tagsight.bench.plan import ABLATION, Request
from tagsight.bench.run import Places, run_bench
from tagsight.cli.console import show_progress
from tagsight.features.describer import FAMILIES
from tagsight.storage.outputs import check_writable

TABLES = ", ".join([*dict.fromkeys(table for one in COLLECTIONS.values() for table in one.tables), ABLATION])


def run(
    collection: Annotated[str, typer.Argument(metavar="COLLECTION", help=f"One of {', '.join(COLLECTIONS)}.")],
    data: Annotated[
        Path, typer.Option(metavar="DIR", envvar="TAGSIGHT_DATA", help="Folder that holds the collection's folder.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the cells.")] = Path(
        "benchmarks/results/cells"
    ),
    table: Annotated[
        list[str] | None, typer.Option(help=f"One of {TABLES}; repeat for more; all but ablations if none.")
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(help="A method, or module:Class; repeat for more; all of the table if none."),
    ] = None,
    features: Annotated[str, typer.Option(help=f"One of {', '.join(FAMILIES)}.")] = "deep",
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0, 1, ... of each method.")] = 3,
    on: Annotated[
        str, typer.Option(help="test, or validation: a half of the training photos, test untouched.")
    ] = "test",
    queries: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the query lists.")] = Path(
        "benchmarks/queries"
    ),
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes to describe photos; all cores if not given.")
    ] = None,
    again: Annotated[bool, typer.Option(help="Make cells that are there again.")] = False,
) -> None:
    """Measure methods on a collection with truth: a JSON file a cell; what is there already is kept."""
    check_writable(output)
    request = Request(collection, tuple(table or ()), tuple(methods or ()), features, seeds, on)
    with show_progress() as report:
        for path in run_bench(request, Places(data, output, queries), report, again=again, n_workers=workers):
            print(path)
