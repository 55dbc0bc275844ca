"""What the routes share."""

from dataclasses import dataclass
from typing import NamedTuple

from tagsight.index import Index
from tagsight.predict.factors import Factor, list_factors
from tagsight.predict.trained_model import ExampleCrop
from tagsight.web.photofiles import Pictures
from tagsight.web.uploads import Annotator

COUNT = 24  # photos a page
THRESHOLD = 0.2  # of a search, where none is given
MOST_PHOTOS = 2**32 - 1


@dataclass(frozen=True)
class Site:
    """An index and what looks at photos for it."""

    index: Index
    pictures: Pictures
    annotator: Annotator


class ShownFactor(NamedTuple):
    """A factor with its name and clearest regions."""

    column: int
    factor: Factor
    name: str | None  # given to a discovered one
    example_crops: tuple[ExampleCrop, ...]


def list_shown(site: Site) -> list[ShownFactor]:
    """Every factor of the index's model, in column order."""
    model, names = site.index.model, site.index.names
    factors = list_factors(model)
    return [
        ShownFactor(column, factor, names.get(factor.name), example_crops)
        for column, (factor, example_crops) in enumerate(zip(factors, model.example_crops, strict=True))
    ]
