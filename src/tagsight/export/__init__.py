"""Found objects for other tools: one file a format, each from the same record of a photo."""

from collections.abc import Iterable, Iterator
from itertools import chain

from tagsight.data.collection import Problem
from tagsight.errors import InputError
from tagsight.export import coco, cvat, labelme, labelstudio, voc, xmp, yolo
from tagsight.export.output import Format, Target
from tagsight.export.record import ExportedPhoto
from tagsight.files import write_atomically

FORMATS: dict[str, Format] = {
    "coco": coco.write,
    "voc": voc.write,
    "labelstudio": labelstudio.write,
    "cvat": cvat.write,
    "labelme": labelme.write,
    "yolo": yolo.write,
    "xmp": xmp.write,
}


def choose_format(name: str) -> Format:
    """A format by its name."""
    if name not in FORMATS:
        raise InputError(f"there is no format {name!r}; choose one of {', '.join(FORMATS)}")
    return FORMATS[name]


def write_export(photos: Iterable[ExportedPhoto], format: Format, target: Target) -> Iterator[Problem]:
    """Write the files as they come, each whole or not at all; what could not be exported is told.

    Without a photo nothing is written, lest an empty export replace one that was not.
    """
    rest = iter(photos)
    first = next(rest, None)
    if first is None:
        return
    for made in format(chain([first], rest), target):
        if isinstance(made, Problem):
            yield made
            continue
        file = target.folder / made.name
        try:
            write_atomically(file, made.content)
        except OSError as problem:
            raise InputError(f"cannot write {str(file)!r}: {problem.strerror or problem}") from problem
