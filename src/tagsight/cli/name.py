"""tagsight name."""

from typing import Annotated

import typer

from tagsight.cli.arguments import IndexFolder
from tagsight.cli.console import show_text
from tagsight.errors import InputError
from tagsight.index import name_factor, remove_name


def run(
    index: IndexFolder,
    factor: Annotated[str, typer.Argument(metavar="FACTOR", help="A discovered factor, such as free-7.")],
    word: Annotated[str | None, typer.Argument(metavar="WORD", help="Name of the factor in queries.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the factor's name.")] = False,
) -> None:
    """Name a discovered factor, so that queries can contain it; the model is not changed."""
    if (word is None) != remove:
        raise InputError("give either a WORD for the factor or --remove, and not both")
    if word is None:
        print(f"{show_text(factor)} is no longer {remove_name(index, factor)!r}")
    else:
        print(f"{show_text(factor)} is now {name_factor(index, factor, word)!r}")
