"""COCO instances in two files with the same ids: `instances_masks.json` with exact run lengths, and
`instances_polygons.json` for programs that need polygons.

Category ids start at 1, in the order of the model. `attributes` is an object of names that are true, as in CVAT;
`score` and `attribute_scores` are beside it. A piece of an instance is one polygon; slits lead to its holes.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from tagsight.data.vocabulary import Vocabulary
from tagsight.export.outline import trace_polygons
from tagsight.export.output import JsonList, OutputFile, Target, join_object, to_json
from tagsight.export.record import ExportedPhoto
from tagsight.export.runs import encode_counts

FILES = ("instances_masks.json", "instances_polygons.json")


def write(photos: Iterable[ExportedPhoto], target: Target) -> Iterator[OutputFile]:
    """Both files, after all photos."""
    images, masks, polygons = JsonList(), JsonList(), JsonList()
    for photo in photos:
        (width, height), image = photo.size, len(images) + 1
        images.add({"id": image, "file_name": photo.name, "width": width, "height": height})
        for n in range(len(photo.instances)):
            annotation = {"id": len(masks) + 1, "image_id": image, **make_annotation(photo, n)}
            runs = {"size": [height, width], "counts": encode_counts(photo.mask(n))}
            masks.add(annotation | {"segmentation": runs})
            polygons.add(annotation | {"segmentation": list_polygons(photo, n)})
    for name, annotations in zip(FILES, (masks, polygons), strict=True):
        yield OutputFile(
            name,
            join_object(
                {
                    "info": to_json({"description": "objects found by tagsight"}),
                    "licenses": b"[]",
                    "categories": to_json(list_categories(target.vocabulary)),
                    "images": images.to_json(),
                    "annotations": annotations.to_json(),
                }
            ),
        )


def make_annotation(photo: ExportedPhoto, n: int) -> dict[str, Any]:
    """The fields of an annotation without its outline."""
    instance = photo.instances[n]
    x0, y0, x1, y1 = instance.box
    return {
        "category_id": instance.category + 1,
        "iscrowd": 0,
        "bbox": [x0, y0, x1 - x0, y1 - y0],
        "area": int(photo.crop(n).sum()),
        "score": instance.score,
        "attributes": {attribute.name: True for attribute in instance.attributes},
        "attribute_scores": {attribute.name: attribute.score for attribute in instance.attributes},
    }


def list_polygons(photo: ExportedPhoto, n: int) -> list[list[int]]:
    """The coordinates x, y, x, y ... of each piece."""
    x0, y0, _, _ = photo.instances[n].box
    return [polygon.ravel().tolist() for polygon in trace_polygons(photo.crop(n), (x0, y0))]


def list_categories(vocabulary: Vocabulary) -> list[dict[str, Any]]:
    """All objects of the model as categories."""
    return [{"id": n, "name": name, "supercategory": ""} for n, name in enumerate(vocabulary.objects, start=1)]
