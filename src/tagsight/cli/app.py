"""The commands of `tagsight`; each is the function `run` of a module of its own."""

from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

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
)


class _Commands(TyperGroup):
    """All commands; the module of a command is imported when the command or its help is needed, which takes time."""

    def __init__(self, **attributes: Any):
        super().__init__(**attributes)
        self.commands: Any = dict.fromkeys(COMMANDS)  # the names are listed and completed without any import

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command with a name, or None."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None


def load_command(name: str) -> TyperCommand:
    """The command of a module."""
    app = typer.Typer(add_completion=False)
    app.command(name)(import_module(f"tagsight.cli.{name}").run)
    command = get_command(app)
    assert isinstance(command, TyperCommand)
    return command


def make_app() -> typer.Typer:
    """The command line."""
    app = typer.Typer(
        cls=_Commands,
        help="Learn nouns and adjectives from photos with tags alone; then name, describe, outline and find objects.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_take_options)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tagsight {version('tagsight')}")
        raise typer.Exit


def _take_options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    del version  # printed before this is called
