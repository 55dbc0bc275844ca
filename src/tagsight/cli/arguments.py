"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

COLLECTION, COMPUTING = "Options of the collection", "Options of the computation"

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file that 'tagsight train' wrote.")]
Images = Annotated[list[Path], typer.Argument(metavar="IMAGE...", help="Photos, or folders of photos.")]
IndexFolder = Annotated[Path, typer.Argument(metavar="INDEX", help="Folder that 'tagsight index' wrote.")]
CollectionFolder = Annotated[Path, typer.Argument(metavar="COLLECTION", help="Folder of tagged photos.")]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Page = Annotated[Path | None, typer.Option("--output", "-o", metavar="PAGE", help="HTML page to write.")]
Threshold = Annotated[float, typer.Option(min=0.0, max=1.0, help="Leave out what is less probable.")]
MaskThreshold = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="Label a region as background if its object is less probable.")
]
Backbone = Annotated[
    Path | None,
    typer.Option(
        metavar="ONNX",
        help="Path of the model's ONNX network. Give it if the file was moved.",
        show_default="the path at training time",
    ),
]

Engine = Annotated[
    str,
    typer.Option(rich_help_panel=COMPUTING, help="Where to compute: 'local' on this machine, 'ray' on a Ray cluster."),
]
Address = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=COMPUTING,
        help="Address of the Ray cluster to join.",
        show_default="a cluster started on this machine",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        rich_help_panel=COMPUTING,
        min=1,
        help="Number of worker processes or actors.",
        show_default="one per processor",
    ),
]

Format = Annotated[
    str | None,
    typer.Option(rich_help_panel=COLLECTION, help="Format of the collection.", show_default="detected from its files"),
]
Split = Annotated[
    str | None, typer.Option(rich_help_panel=COLLECTION, help="Split to read, if the dataset has several.")
]
SynonymFile = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=COLLECTION, help="File that maps tags to tags: CSV with the columns from,to[,kind], or JSON."
    ),
]
WordFile = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=COLLECTION, help="List of nouns and adjectives, for formats that do not tell them apart."
    ),
]
PhotoFolder = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=COLLECTION, help="Folder of the photos.", show_default="the usual place of the format"
    ),
]
