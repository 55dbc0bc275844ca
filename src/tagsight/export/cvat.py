"""Datumaro JSON, which CVAT imports as "Datumaro 1.0": `annotations/default.json`; and `labels.json` for CVAT.

Masks are exact run lengths. Attributes that apply are true, and others are left out. `score` is the score of the
instance; those of attributes are named `score of NAME`. CVAT drops attributes that its labels lack: paste `labels.json`
into the raw view of the labels of a new task.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from tagsight.data.vocabulary import Vocabulary
from tagsight.errors import InputError
from tagsight.export.output import JsonList, OutputFile, Target, join_object, to_json
from tagsight.export.record import ExportedPhoto
from tagsight.export.runs import encode_counts

SCORE = "score"

FILES = ANNOTATIONS, LABELS = ("annotations/default.json", "labels.json")


def write(photos: Iterable[ExportedPhoto], target: Target) -> Iterator[OutputFile]:
    """Both files, after all photos."""
    if SCORE in target.vocabulary.attributes:
        raise InputError(
            f"Datumaro keeps scores as an attribute {SCORE!r}, and the model has a tag of that name; "
            "choose another format"
        )
    items = JsonList()
    for photo in photos:
        width, height = photo.size
        items.add(
            {
                "id": str(PurePosixPath(photo.name).with_suffix("")),
                "annotations": [make_annotation(photo, n) for n in range(len(photo.instances))],
                "image": {"path": photo.name, "size": [height, width]},
            }
        )
    categories = {"label": {"labels": list_labels(target.vocabulary), "attributes": []}}
    fields = {"info": b"{}", "categories": to_json(categories), "items": items.to_json()}
    yield OutputFile(ANNOTATIONS, join_object(fields))
    yield OutputFile(LABELS, to_json(list_cvat_labels(target.vocabulary)))


def make_annotation(photo: ExportedPhoto, n: int) -> dict[str, Any]:
    """The annotation of one instance, a mask."""
    instance = photo.instances[n]
    width, height = photo.size
    true = {attribute.name: True for attribute in instance.attributes}
    scores = {f"{SCORE} of {attribute.name}": attribute.score for attribute in instance.attributes}
    return {
        "id": n + 1,
        "type": "mask",
        "attributes": true | scores | {SCORE: instance.score},
        "group": 0,
        "label_id": instance.category,
        "rle": {"counts": encode_counts(photo.mask(n)), "size": [height, width]},
        "z_order": 0,
    }


def list_labels(vocabulary: Vocabulary) -> list[dict[str, Any]]:
    """The labels of Datumaro, numbered from 0."""
    return [{"name": name, "parent": "", "attributes": list(vocabulary.attributes)} for name in vocabulary.objects]


def list_cvat_labels(vocabulary: Vocabulary) -> list[dict[str, Any]]:
    """The labels of CVAT, with a checkbox for every attribute."""
    checkbox = {"mutable": False, "input_type": "checkbox", "default_value": "false", "values": ["false"]}
    attributes = [{"name": name, **checkbox} for name in vocabulary.attributes]
    return [{"name": name, "attributes": attributes} for name in vocabulary.objects]
