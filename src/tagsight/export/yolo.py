"""YOLO segmentation: `labels/NAME.txt` and `data.yaml`; photos are expected under `images/`.

A line is a class and a polygon as shares of width and height: one line for each piece of an instance, with slits to
its holes. The format has no scores or attributes.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from tagsight.data.collection import Problem
from tagsight.export.outline import trace_polygons
from tagsight.export.output import OutputFile, Target, write_each
from tagsight.export.record import ExportedPhoto

FILES = ("data.yaml",)


def write(photos: Iterable[ExportedPhoto], target: Target) -> Iterator[OutputFile | Problem]:
    """One file per photo, empty if no object was found; then the names."""
    yield from write_each(photos, name_labels, lambda photo, _: "".join(list_lines(photo)).encode())
    names = "".join(f"  {n}: {quote_yaml(name)}\n" for n, name in enumerate(target.vocabulary.objects))
    yield OutputFile(FILES[0], f"train: images\nval: images\nnames:\n{names}".encode())


def name_labels(name: str) -> str:
    """The name of the label file of a photo."""
    return f"labels/{PurePosixPath(name).with_suffix('.txt')}"


def list_lines(photo: ExportedPhoto) -> Iterator[str]:
    """Lines of the form `class x y x y ...`."""
    for n, instance in enumerate(photo.instances):
        x0, y0, _, _ = instance.box
        for polygon in trace_polygons(photo.crop(n), (x0, y0)):
            shares = (polygon / photo.size).ravel()
            yield " ".join([str(instance.category), *(f"{share:.8g}" for share in shares)]) + "\n"


def quote_yaml(text: str) -> str:
    """A double-quoted YAML scalar in ASCII."""
    return '"' + re.sub(r"[^ !#-\[\]-~]", lambda found: f"\\U{ord(found[0]):08x}", text) + '"'
