"""The `tagsight` command: its sub-commands, and the one place that turns errors into exit codes."""

import sys

import typer

from tagsight.cli import annotate, demo, describe, factors, inspect, segment, train
from tagsight.cli.console import complain
from tagsight.errors import TagsightError

app = typer.Typer(
    help="Learn nouns and adjectives from photos with tags alone; then name, describe, outline and find.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (train, annotate, describe, segment, factors, inspect, demo):
    app.command(name=command.__name__.rsplit(".", 1)[1])(command.run)


def main() -> None:
    """Run the command line."""
    try:
        app()
    except TagsightError as error:
        complain(str(error))
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(0)  # the reader of our output has seen enough
