"""The commands of `tagsight`; each is the function `run` of a module of its own."""

from importlib import import_module
from importlib.metadata import version
from typing import Annotated

import typer

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


def make_app(commands: tuple[str, ...] = COMMANDS) -> typer.Typer:
    """The command line with some of its commands; importing the module of a command takes time."""
    app = typer.Typer(
        help="Learn nouns and adjectives from photos with tags alone; then name, describe, outline and find objects.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_take_options)
    for name in commands:
        app.command(name)(import_module(f"tagsight.cli.{name}").run)
    return app


def choose_commands(arguments: list[str]) -> tuple[str, ...]:
    """The commands to load: the one that is given, otherwise all, since the help lists them."""
    if arguments[:1] == ["--version"]:
        return ()
    return tuple(arguments[:1]) if arguments and arguments[0] in COMMANDS else COMMANDS


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tagsight {version('tagsight')}")
        raise typer.Exit


def _take_options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    del version  # printed before this is called
