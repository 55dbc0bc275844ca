"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

MODEL_HELP = "a model file of 'tagsight train', or a name of 'tagsight models'. Default: the model 'starter'."

ModelFile = Annotated[Path | None, typer.Argument(metavar="MODEL", help=f"Model: {MODEL_HELP}", show_default=False)]
ModelAndImages = Annotated[
    list[Path],
    typer.Argument(metavar="[MODEL] IMAGE", help=f"Photos, or folders of photos. MODEL: {MODEL_HELP}"),
]
IndexFolder = Annotated[Path, typer.Argument(metavar="INDEX", help="Folder that 'tagsight index' wrote.")]
CollectionFolder = Annotated[Path, typer.Argument(metavar="COLLECTION", help="Folder of tagged photos.")]
CollectionPhotos = Annotated[
    Path, typer.Argument(metavar="COLLECTION", help="Folder of photos, tagged or not, or its tags file.")
]

JournalFile = Annotated[
    Path | None,
    typer.Option(
        "--journal",
        metavar="FILE",
        help="Journal of decisions.",
        show_default=".tagsight/decisions.sqlite in the folder of the photos",
    ),
]
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
