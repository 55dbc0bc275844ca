"""The `tagsight` command: its sub-commands, and the one place that turns errors into exit codes."""

import sys
from importlib import import_module

import typer

from tagsight.cli.console import complain
from tagsight.errors import StoppedError, TagsightError

COMMANDS = (
    "train",
    "annotate",
    "describe",
    "segment",
    "export",
    "factors",
    "inspect",
    "index",
    "find",
    "name",
    "serve",
    "demo",
    "bench",
)


def make_app(commands: tuple[str, ...] = COMMANDS) -> typer.Typer:
    """The command line with some of its commands; each brings in what it needs, which takes time."""
    app = typer.Typer(
        help="Learn nouns and adjectives from photos with tags alone; then name, describe, outline and find.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(lambda: None)  # a single command is still called by its name
    for name in commands:
        app.command(name)(import_module(f"tagsight.cli.{name}").run)
    return app


def main() -> None:
    """Run the command line."""
    asked = sys.argv[1:2]
    try:
        make_app(tuple(asked) if asked and asked[0] in COMMANDS else COMMANDS)()
    except StoppedError as error:
        complain(str(error))
        sys.exit(128 + error.signal)
    except TagsightError as error:
        complain(str(error))
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(0)  # the reader of our output has seen enough
