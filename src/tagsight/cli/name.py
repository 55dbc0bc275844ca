"""tagsight name."""

from typing import Annotated

import typer

from tagsight.cli.arguments import IndexFolder
from tagsight.index import name_factor


def run(
    index: IndexFolder,
    factor: Annotated[str, typer.Argument(metavar="FACTOR", help="A discovered factor, such as free-7.")],
    word: Annotated[str, typer.Argument(metavar="WORD", help="What to call it in queries.")],
) -> None:
    """Name a discovered factor, so that it can be searched for; the model stays as it is."""
    print(f"{factor} is now {name_factor(index, factor, word)!r}")
