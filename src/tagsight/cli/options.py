"""Options that the command line shares with the Python API; their help is read from the docstrings of the API."""

import re
from inspect import getdoc
from pathlib import Path
from typing import Annotated

import typer
from typer.models import OptionInfo

from tagsight.api import train
from tagsight.data.readers import open_collection
from tagsight.estimator import StackedIBP
from tagsight.training.options import TrainOptions

COLLECTION, COMPUTING = "Options of the collection", "Options of the computation"
GOOGLE_STYLE = re.compile(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)  # of most docstrings
NUMPY_STYLE = re.compile(r"^(\w+) : .+\n((?: {4}.+\n?)+)", re.MULTILINE)  # of the docstring of `StackedIBP`


def read_help(documented: object) -> dict[str, str]:
    """The description of each argument or field in a docstring."""
    doc = getdoc(documented) or ""
    entries = GOOGLE_STYLE.findall(doc) or NUMPY_STYLE.findall(doc)
    return {name: " ".join(text.split()).replace("`", "'") for name, text in entries}


HELP = read_help(StackedIBP) | read_help(TrainOptions) | read_help(open_collection) | read_help(train)


def option(
    name: str,
    *flags: str,
    panel: str | None = None,
    minimum: float | None = None,
    metavar: str | None = None,
    show_default: bool | str = True,
) -> OptionInfo:
    """The option of a name in the API."""
    return typer.Option(
        *flags, rich_help_panel=panel, min=minimum, metavar=metavar, show_default=show_default, help=HELP.get(name)
    )


Engine = Annotated[str, option("engine", panel=COMPUTING)]
Address = Annotated[str | None, option("address", panel=COMPUTING)]
Workers = Annotated[int | None, option("n_workers", "--workers", panel=COMPUTING, minimum=1)]

Format = Annotated[str | None, option("format", panel=COLLECTION)]
Split = Annotated[str | None, option("split", panel=COLLECTION)]
SynonymFile = Annotated[Path | None, option("synonyms", panel=COLLECTION)]
WordFile = Annotated[Path | None, option("words", panel=COLLECTION)]
PhotoFolder = Annotated[Path | None, option("images", panel=COLLECTION)]
