"""The commands of `tagsight`; each is the function `run` of a module of its own."""

from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

COMMANDS = {  # with the first sentence of its help
    "train": "Train a model on a folder of tagged photos.",
    "annotate": "Name the objects of photos, each with its attributes and scores.",
    "describe": "Describe one object of a photo by its attributes.",
    "segment": "Outline the objects of photos and write a mask of each photo.",
    "export": "Write the objects of photos, with outlines, scores and attributes, for other programs.",
    "factors": "List the tagged and discovered factors: how often each occurs, with which others, and example regions.",
    "models": "List the models that tagsight ships: their words, training photos, accuracy and limits.",
    "inspect": "Count a collection's photos and tags, and list the photos that cannot be used.",
    "index": "Annotate every photo once for 'tagsight find'; later runs annotate only new and changed photos.",
    "find": "Find photos by words or by a similar photo; the best come first, with the region and its score.",
    "write-back": "Write changes of tags into your files; everything else in them is kept byte by byte.",
    "name": "Name a discovered factor, so that queries can contain it; the model is not changed.",
    "serve": "Search and annotate photos in the browser.",
    "review": "List words that photos probably lack, tags that are probably wrong, or photos worth tagging next.",
    "decide": "Record in the journal of a collection which words photos have, or withdraw such decisions.",
    "decisions": "Print the current decisions about the photos of a collection, yes or no.",
    "demo": "Render a collection, train a model on its tags, and write a page that shows the predictions.",
}


class _Commands(TyperGroup):
    """All commands. Help and completion use the table; the module of a command is imported when the command runs."""

    def __init__(self, **attributes: Any):
        super().__init__(**attributes)
        self.commands: Any = {name: TyperCommand(name, help=summary) for name, summary in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The name and the command of arguments, and the arguments after the name."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else load_command(name), rest


def load_command(name: str) -> TyperCommand:
    """The command of a module."""
    app = typer.Typer(add_completion=False)
    app.command(name)(import_module(f"tagsight.cli.{name.replace('-', '_')}").run)
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
