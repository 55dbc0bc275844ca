"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file made by 'tagsight train'.")]
Backbone = Annotated[
    Path | None,
    typer.Option(metavar="ONNX", help="Path of the model's ONNX network, if the file was moved since the training."),
]
Images = Annotated[list[Path], typer.Argument(metavar="IMAGE...", help="Photos, or folders of photos.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Threshold = Annotated[float, typer.Option(min=0.0, max=1.0, help="Leave out what is less probable.")]

Engine = Annotated[str, typer.Option(help="Where the work is done: local, on this machine, or ray, on a cluster.")]
Address = Annotated[str | None, typer.Option(help="Ray cluster to join; else one is started on this machine.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes or actors; one a core if not given.")]

IndexFolder = Annotated[Path, typer.Argument(metavar="INDEX", help="Folder made by 'tagsight index'.")]

CollectionFolder = Annotated[Path, typer.Argument(metavar="COLLECTION", help="Folder of tagged photos.")]
Format = Annotated[str | None, typer.Option(help="Layout of the collection, where it cannot be told.")]
Split = Annotated[str | None, typer.Option(help="Split of a dataset that has several.")]
SynonymFile = Annotated[Path | None, typer.Option(help="Mapping of tags: CSV from,to[,kind] or JSON.")]
WordFile = Annotated[Path | None, typer.Option(help="Nouns and adjectives, where tags do not tell them apart.")]
PhotoFolder = Annotated[Path | None, typer.Option(help="Folder of the photos, where it is not in its usual place.")]
