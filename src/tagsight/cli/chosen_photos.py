"""Photos named on the command line, described and looked at one by one."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tagsight.cli.console import list_problems
from tagsight.data.collection import Problem
from tagsight.data.listing import list_photos
from tagsight.errors import UnreadablePhotoError
from tagsight.features.extractor import open_extractor
from tagsight.features.photo_features import PhotoFeatures, extract_photo
from tagsight.predict.predictor import Prediction, predict_photos
from tagsight.predict.trained_model import TrainedModel
from tagsight.runtime.interrupts import check_stop


class ChosenPhoto(NamedTuple):
    """A photo to work on; ``folder`` is the folder that was named, None if the photo itself was."""

    path: Path
    folder: Path | None


class PredictedPhoto(NamedTuple):
    """A photo and what the model says of its regions."""

    path: Path
    photo: PhotoFeatures
    posterior: Prediction


class PhotoPredictor:
    """Looks at photos; those that cannot be read are reported, and counted if they were named one by one."""

    def __init__(self, model: TrainedModel):
        self._model = model
        self.n_failed = 0

    def predict(self, images: list[Path]) -> Iterator[PredictedPhoto]:
        """Every photo named or in a named folder."""
        return self.predict_chosen(choose_photos(images))

    def predict_chosen(self, chosen: Iterable[ChosenPhoto]) -> Iterator[PredictedPhoto]:
        """The same of photos that are listed already."""
        extractor = open_extractor(self._model.extractor_config)
        for path, folder in chosen:
            check_stop()
            try:
                photo = extract_photo(path, extractor, n_regions=self._model.n_regions)
            except UnreadablePhotoError as error:
                list_problems([Problem(path, error.reason)])
                self.n_failed += folder is None
                continue
            yield PredictedPhoto(path, photo, predict_photos(self._model.predictor, [photo])[0])


def choose_photos(images: Iterable[Path]) -> list[ChosenPhoto]:
    """Every photo named or in a named folder, in the order named; what is left out of folders is reported."""
    chosen: list[ChosenPhoto] = []
    for image in images:
        if not image.is_dir():
            chosen.append(ChosenPhoto(image, None))
            continue
        listing = list_photos(image)
        list_problems(listing.problems)
        chosen += [ChosenPhoto(path, image) for path in listing.photos]
    return chosen


def name_outputs(chosen: Iterable[ChosenPhoto]) -> dict[ChosenPhoto, Path]:
    """A name without suffix for what is made of each photo, relative to the folder of the outputs.

    A photo of a named folder keeps its place under that folder (``sub/x``); one that was named itself has its own
    name (``x``). Photos that would share a name keep their suffix (``x.jpg``), and those that still would have their
    path from the deepest folder that holds all photos (``a/x.jpg``). A photo that was named more than once is in the
    answer once. Case does not tell names apart, since on some disks it does not.
    """
    unique: dict[str, ChosenPhoto] = {}
    for photo in chosen:
        unique.setdefault(os.path.abspath(photo.path), photo)
    root = os.path.commonpath(map(os.path.dirname, unique)) if unique else ""
    forms = {photo: _list_forms(photo, root) for photo in unique.values()}
    names = {photo: options.pop(0) for photo, options in forms.items()}
    while True:
        sharing: dict[str, list[ChosenPhoto]] = defaultdict(list)
        for photo, name in names.items():
            sharing[str(name).casefold()].append(photo)
        renamed = [photo for photos in sharing.values() if len(photos) > 1 for photo in photos if forms[photo]]
        if not renamed:
            return names
        names |= {photo: forms[photo].pop(0) for photo in renamed}


def _list_forms(photo: ChosenPhoto, root: str) -> list[Path]:
    """The names of a photo's outputs, in the order of preference."""
    place = Path(photo.path.name) if photo.folder is None else photo.path.relative_to(photo.folder)
    return [place.with_suffix(""), place, Path(os.path.relpath(photo.path, root))]
