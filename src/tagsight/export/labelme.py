"""LabelMe: one `NAME.json` per photo, with the path of the photo instead of its pixels.

Shapes are polygons, one for each piece of an instance; pieces of an instance have the same `group_id`, and slits lead
to holes. Attributes are flags, scores are in the description. An existing file may have been corrected by hand, so it
is kept.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from tagsight.data.collection import Problem
from tagsight.export.labelstudio import format_scores
from tagsight.export.outline import trace_polygons
from tagsight.export.output import OutputFile, Target, to_json, write_each
from tagsight.export.record import ExportedPhoto

VERSION = "5.5.0"  # of LabelMe, whose format this is


def write(photos: Iterable[ExportedPhoto], target: Target) -> Iterator[OutputFile | Problem]:
    """One file per photo."""

    def encode(photo: ExportedPhoto, name: str) -> bytes:
        return to_json(make_record(photo, target.folder / name))

    yield from write_each(photos, lambda name: str(PurePosixPath(name).with_suffix(".json")), encode)


def make_record(photo: ExportedPhoto, file: Path) -> dict[str, Any]:
    """The content of `file`, which belongs to the photo."""
    width, height = photo.size
    return {
        "version": VERSION,
        "flags": {},
        "shapes": [shape for n in range(len(photo.instances)) for shape in list_shapes(photo, n)],
        "imagePath": os.path.relpath(photo.path, file.parent),
        "imageData": None,
        "imageHeight": height,
        "imageWidth": width,
    }


def list_shapes(photo: ExportedPhoto, n: int) -> list[dict[str, Any]]:
    """The shapes of an instance, one per piece."""
    instance = photo.instances[n]
    x0, y0, _, _ = instance.box
    return [
        {
            "label": instance.name,
            "points": polygon.tolist(),
            "group_id": n + 1,
            "description": format_scores(instance),
            "shape_type": "polygon",
            "flags": {attribute.name: True for attribute in instance.attributes},
            "mask": None,
        }
        for polygon in trace_polygons(photo.crop(n), (x0, y0))
    ]
