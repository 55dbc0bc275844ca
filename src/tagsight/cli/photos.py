"""Photos named on the command line, described and looked at one by one."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tagsight.cli.console import list_problems
from tagsight.data.collection import Problem
from tagsight.data.listing import list_photos
from tagsight.errors import UnreadablePhotoError
from tagsight.features.described import DescribedPhoto, describe_photo
from tagsight.features.describer import open_describer
from tagsight.trained import RegionPosterior, TrainedModel, look_at


class SeenPhoto(NamedTuple):
    """A photo and what the model says of its regions."""

    path: Path
    photo: DescribedPhoto
    posterior: RegionPosterior


class Viewer:
    """Looks at photos; those that cannot be read are reported, and counted if they were named one by one."""

    def __init__(self, model: TrainedModel):
        self._model = model
        self.n_failed = 0

    def look(self, images: list[Path]) -> Iterator[SeenPhoto]:
        """Every photo named or in a named folder."""
        describer = open_describer(self._model.recipe)
        for image in images:
            folder = image.is_dir()
            listing = list_photos(image) if folder else None
            list_problems(listing.problems if listing else ())
            for path in listing.photos if listing else (image,):
                try:
                    photo = describe_photo(path, describer, n_regions=self._model.n_regions)
                except UnreadablePhotoError as error:
                    list_problems([Problem(path, error.reason)])
                    self.n_failed += not folder
                    continue
                yield SeenPhoto(path, photo, look_at(self._model, [photo])[0])
