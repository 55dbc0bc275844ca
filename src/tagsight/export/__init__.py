"""Exports of found objects to other programs: one module per format, all from the same record of a photo."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from tagsight.data.collection import Problem
from tagsight.errors import InputError, WriteError
from tagsight.export import coco, cvat, labelme, labelstudio, voc, xmp, yolo
from tagsight.export.output import Format, OutputFile, Target
from tagsight.export.record import ExportedPhoto
from tagsight.storage.edits import FileChange, write_change
from tagsight.storage.outputs import SharedFolder

FORMATS: dict[str, Format] = {
    "coco": Format(coco.write, coco.FILES),
    "voc": Format(voc.write, voc.FILES),
    "labelstudio": Format(labelstudio.write, labelstudio.FILES),
    "cvat": Format(cvat.write, cvat.FILES),
    "labelme": Format(labelme.write),
    "yolo": Format(yolo.write, yolo.FILES),
    "xmp": Format(xmp.write),
}


def choose_format(name: str) -> Format:
    """The format with a name."""
    if name not in FORMATS:
        raise InputError(f"there is no format {name!r}; choose one of {', '.join(FORMATS)}")
    return FORMATS[name]


def write_export(
    photos: Iterable[ExportedPhoto], format: Format, target: Target, inputs: Iterable[Path] = ()
) -> Iterator[Problem]:
    """Write the files of an export, each whole or not at all; yields what could not be exported.

    A file is replaced only if it is as tagsight wrote it, or if it is edited (XMP sidecars) and nobody else changed it
    meanwhile. Other files and `inputs` are kept and reported. Without a photo nothing is written, so that an empty
    export does not replace another one.
    """
    output = SharedFolder(target.folder, inputs)
    output.check(format.files)
    rest = iter(photos)
    first = next(rest, None)
    if first is None:
        return
    for made in format.write(chain([first], rest), target):
        if isinstance(made, Problem):
            yield made
            continue
        path = made.path if isinstance(made, FileChange) else target.folder / made.name
        try:
            if isinstance(made, OutputFile):
                output.write(made.name, made.content)
            elif made.edits:
                write_change(made)
        except WriteError:
            raise
        except InputError as error:
            yield Problem(path, str(error))
