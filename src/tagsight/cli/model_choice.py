"""Which model a command uses: the one given as its first argument, or the starter model.

The first argument is the model if it is

- a model file, according to its content;
- a path that ends in `.model` and is no folder, whether there is such a file or not; or
- the name of a shipped model, if there is no file or folder of that name.

Otherwise the command uses the starter model and states so on standard error, and every argument is a photo or a
folder. The first argument is then checked: it must be a folder, have the suffix of an image file, or be a file that can
be read as a photo. So a mistyped model is an error. Commands that take one photo or folder also decide by the number of
arguments: the first of two is the model.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tagsight.api import Model, load
from tagsight.data.formats import OTHER_IMAGE_SUFFIXES, PHOTO_SUFFIXES, find_remedy
from tagsight.data.photo import read_size
from tagsight.errors import InputError, UnreadablePhotoError
from tagsight.predict.shipped import STARTER, is_shipped
from tagsight.runtime.messages import print_message
from tagsight.storage.outputs import is_model

SUFFIX = ".model"
ADVICE = f"give a model of 'tagsight train' or 'tagsight models', or photos only for the model {STARTER!r}"


class Operands(NamedTuple):
    """The arguments of a command."""

    model: Path | None  # None: the starter model
    others: list[Path]


def open_model(model: Path | None, backbone: Path | None) -> Model:
    """Load a model. If it is the starter model because none was given, say so on standard error."""
    loaded = load(model, backbone=backbone)
    if model is None:
        words = f"{len(loaded.objects)} objects, {len(loaded.attributes)} attributes"
        print_message(f"using the model {STARTER!r} ({words}; 'tagsight models' describes it)")
    return loaded


def split_photos(arguments: Sequence[Path]) -> Operands:
    """The model and the photos among the arguments of a command that takes any number of photos and folders."""
    first, *rest = arguments
    if late := next((path for path in rest if not _has_image_suffix(path) and names_model(path)), None):
        raise InputError(
            f"the model {str(late)!r} must be the first argument, and the only model: give photos after it"
        )
    if not names_model(first):
        _check_photo(first)
        return Operands(None, list(arguments))
    if not rest:
        raise InputError(f"there is no photo after the model {str(first)!r}: give photos or folders")
    return Operands(first, rest)


def split_one(arguments: Sequence[Path], operand: str) -> Operands:
    """The model and the only other argument, such as a photo or a collection; `operand` is what it is called."""
    first, *rest = arguments
    if len(rest) > 1:
        raise InputError(f"give one {operand}, and before it a model if you like; got {len(arguments)} arguments")
    if rest:
        return Operands(first, rest)
    if names_model(first):
        raise InputError(f"there is no {operand} after the model {str(first)!r}: give one")
    return Operands(None, [first])


def names_model(path: Path) -> bool:
    """Whether an argument is a model, and not a photo or a folder."""
    if path.is_dir():
        return False
    if path.suffix.lower() == SUFFIX or is_shipped(path):
        return True
    return path.is_file() and is_model(path)


def _check_photo(path: Path) -> None:
    """Raise InputError unless an argument, which is no model, may be a photo or a folder."""
    if path.is_dir() or _has_image_suffix(path):
        return
    if not path.exists():
        raise InputError(f"{str(path)!r} is neither a model nor a photo: there is no model file of that name; {ADVICE}")
    try:
        read_size(path)
    except UnreadablePhotoError as error:
        raise InputError(f"{str(path)!r} is neither a model nor a photo that can be read; {ADVICE}") from error


def _has_image_suffix(path: Path) -> bool:
    return path.suffix.lower() in PHOTO_SUFFIXES | OTHER_IMAGE_SUFFIXES or find_remedy(path) is not None
