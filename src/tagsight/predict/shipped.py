"""The models that the package ships, by name, and the card of each.

The folder `starter/` of the package holds the model file `starter.model` and its figures, `figures.json`.
`benchmarks/starter_model.py` writes both.
"""

from pathlib import Path
from typing import Any, NamedTuple

from tagsight.data.textfiles import read_json

FOLDER = Path(__file__).parents[1] / "starter"
STARTER = "starter"  # name of the model that is used if none is given


class ShippedModel(NamedTuple):
    """A model of the package, and what its card states."""

    path: Path  # of the model file
    figures: Path  # of the JSON object of `Figures`
    source: str  # the training photos
    licence: str
    limits: tuple[str, ...]


SHIPPED: dict[str, ShippedModel] = {
    STARTER: ShippedModel(
        FOLDER / "starter.model",
        FOLDER / "figures.json",
        "the training photos of PASCAL VOC 2008, with the classes and attributes of aPascal as tags",
        "Apache-2.0, as tagsight; the file has no photos, no parts of photos and no features of single photos",
        (
            "it knows these words only, and names the most similar ones in photos of anything else",
            "its photos are from Flickr, from 2008 and before: other kinds of photos have lower scores",
            "attributes are labels of one dataset, such as 'furn. leg'; some are rare and weakly learned",
            "no decision about a person may rest on its output",
        ),
    )
}


class Figures(NamedTuple):
    """What a shipped model measures on test photos of its source; shares, not percent."""

    sha256: str  # of the model file
    n_photos: int  # test photos
    n_masks: int  # those with a mask
    object_right: float  # share of photos that contain the object named first
    precision_at_2: float  # share of correct attributes among the first 2 of that object
    precision_at_5: float
    precision_at_8: float
    given_name_map: float  # mean average precision of attributes, objects being given
    given_location_map: float  # the same, boxes being given
    miou: float  # of outlines: mean over background and objects


def is_shipped(model: Path) -> bool:
    """Whether a path is the name of a shipped model, and there is no file or folder of that name."""
    return str(model) in SHIPPED and not model.exists()


def locate_model(model: Path | None) -> Path:
    """The path of a model file that is given by its path or by the name of a shipped model; None: the starter model."""
    if model is None:
        return SHIPPED[STARTER].path
    return SHIPPED[str(model)].path if is_shipped(model) else model


def read_figures(model: ShippedModel) -> Figures:
    """The figures of a shipped model."""
    values: dict[str, Any] = read_json(model.figures)
    return Figures(**values)
