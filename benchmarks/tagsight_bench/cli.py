"""The command `tagsight-bench`."""

from pathlib import Path
from typing import Annotated

import typer

from tagsight.cli.main import exit_with_code
from tagsight.features.extractor import FAMILIES
from tagsight.runtime.progress import show_progress
from tagsight.storage.outputs import check_writable
from tagsight_bench.collections import COLLECTIONS
from tagsight_bench.plan import ABLATION, Request
from tagsight_bench.run import BenchPaths, run_bench

ADVICE = "written cells are kept; the same command measures the others"  # after a signal
TABLES = ", ".join([*dict.fromkeys(table for one in COLLECTIONS.values() for table in one.tables), ABLATION])


def run(
    collection: Annotated[str, typer.Argument(metavar="COLLECTION", help=f"One of {', '.join(COLLECTIONS)}.")],
    data: Annotated[
        Path, typer.Option(metavar="DIR", envvar="TAGSIGHT_DATA", help="Folder with the folder of the collection.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the cells.")] = Path(
        "benchmarks/results/cells"
    ),
    table: Annotated[
        list[str] | None,
        typer.Option(help=f"One of {TABLES}; repeat it for more than one. By default all but ablations."),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="A method, or module:Class; repeat it for more than one. By default all methods of the table."
        ),
    ] = None,
    features: Annotated[str, typer.Option(help=f"One of {', '.join(FAMILIES)}.")] = "deep",
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds per method: 0, 1, ...")] = 3,
    on: Annotated[
        str, typer.Option(help="Photos to score on: test, or validation, a half of the training photos.")
    ] = "test",
    queries: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the query lists.")] = Path(
        "benchmarks/queries"
    ),
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of processes that extract features. By default one per core.")
    ] = None,
    again: Annotated[bool, typer.Option(help="Measure existing cells again.")] = False,
) -> None:
    """Measure methods on a collection with ground truth, one JSON file per cell; existing cells are kept."""
    check_writable(output)
    request = Request(collection, tuple(table or ()), tuple(methods or ()), features, seeds, on)
    with show_progress() as report:
        for path in run_bench(request, BenchPaths(data, output, queries), report, again=again, n_workers=workers):
            print(path)


def make_app() -> typer.Typer:
    """The command line."""
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command()(run)
    return app


def main() -> None:
    """Run the command line; the process ends after it."""
    with exit_with_code(ADVICE):
        make_app()()
