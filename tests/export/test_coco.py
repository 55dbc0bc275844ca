"""COCO, read by pycocotools."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from numpy.testing import assert_array_equal
from pycocotools import mask as rle
from pycocotools.coco import COCO

from tagsight.data.readers import open_collection
from tagsight.export import coco
from tagsight.export.record import ExportedPhoto
from tagsight.export.runs import encode_counts
from tagsight.types import Array

from .made import AWKWARD, RING, make_files, make_photo, masks, owners

# pycocotools 2.0.11 with numpy 2.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def load(photo: ExportedPhoto, kind: str) -> COCO:
    opened = COCO()
    opened.dataset = json.loads(make_files(coco.write, photo)[f"instances_{kind}.json"])
    opened.createIndex()
    return opened


@given(masks)
@example(np.ones((300, 400), bool))
@example(np.zeros((0, 0), bool))
@settings(max_examples=300)
def test_runs_are_those_of_pycocotools(mask: Array) -> None:
    mask = mask if mask.size else np.random.default_rng(0).random((900, 1100)) < 0.001
    assert encode_counts(mask).encode() == rle.encode(np.asfortranarray(mask.astype(np.uint8)))["counts"]


@given(owners)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_masks_areas_and_boxes_are_exact(owner: Array) -> None:
    photo = make_photo(owner)
    for kind in ("masks", "polygons"):
        opened = load(photo, kind)
        assert len(opened.anns) == len(photo.instances)
        annotations: list[Any] = list(opened.anns.values())
        for n, annotation in enumerate(annotations):
            assert_array_equal(opened.annToMask(annotation), photo.mask(n))
            assert annotation["area"] == rle.area(opened.annToRLE(annotation))
            assert annotation["bbox"] == rle.toBbox(opened.annToRLE(annotation)).tolist()


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_masks(name: str) -> None:
    photo = make_photo(AWKWARD[name])
    opened = load(photo, "polygons")
    (annotation,) = opened.anns.values()
    assert_array_equal(opened.annToMask(annotation), AWKWARD[name])
    assert all(len(polygon) >= 8 for polygon in annotation["segmentation"])


def test_an_annotation_has_the_fields_of_its_instance() -> None:
    photo = make_photo(np.array([[0, 1, 2, 2]]), "deep/a.jpg")
    content = json.loads(make_files(coco.write, photo)["instances_masks.json"])
    assert content["categories"] == [
        {"id": 1, "name": "horse", "supercategory": ""},
        {"id": 2, "name": "car", "supercategory": ""},
    ]
    assert content["images"] == [{"id": 1, "file_name": "deep/a.jpg", "width": 4, "height": 1}]
    first, second = content["annotations"]
    assert (first["id"], first["image_id"], first["category_id"], first["score"]) == (1, 1, 1, 0.875)
    assert (second["id"], second["category_id"], second["bbox"]) == (2, 2, [2, 0, 2, 1])
    assert first["attributes"] == {"furry": True, "shiny": True}
    assert first["attribute_scores"] == {"furry": 0.9, "shiny": 0.8}


def test_tagsight_reads_its_own_export(tmp_path: Path) -> None:
    photos = [make_photo(RING, "x/a.jpg"), make_photo(RING * 0, "y/a.jpg")]
    for name, content in make_files(coco.write, *photos).items():
        (tmp_path / name).write_bytes(content)
    for photo in photos:
        (tmp_path / photo.name).parent.mkdir()
        (tmp_path / photo.name).write_bytes(b"a photo")
    first, second = open_collection(tmp_path, split="masks").photos
    assert (first.objects, first.attributes) == (("horse",), ("furry", "shiny"))
    assert (second.objects, second.attributes) == ((), ())
