"""Datumaro JSON: run lengths decoded by pycocotools, and the whole file by Datumaro if it is installed."""

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal
from PIL import Image
from pycocotools import mask as rle

from tagsight.data.vocabulary import Vocabulary
from tagsight.errors import InputError
from tagsight.export import cvat
from tagsight.export.output import Target
from tagsight.types import Array

from .made import AWKWARD, TARGET, make_files, make_photo, owners

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@given(owners)
def test_masks_are_exact(owner: Array) -> None:
    photo = make_photo(owner)
    (item,) = json.loads(make_files(cvat.write, photo)["annotations/default.json"])["items"]
    assert len(item["annotations"]) == len(photo.instances)
    for n, annotation in enumerate(item["annotations"]):
        assert annotation["type"] == "mask"
        assert_array_equal(rle.decode(annotation["rle"]), photo.mask(n))


def test_labels_attributes_and_scores() -> None:
    files = make_files(cvat.write, make_photo(np.array([[0, 1, 2, 2]]), "deep/a.jpg"))
    content = json.loads(files["annotations/default.json"])
    labels = [label["name"] for label in content["categories"]["label"]["labels"]]
    (item,) = content["items"]
    assert (item["id"], item["image"]) == ("deep/a", {"path": "deep/a.jpg", "size": [1, 4]})
    _, car = item["annotations"]
    assert labels[car["label_id"]] == "car"
    assert car["attributes"] == {
        "furry": True, "shiny": True, "score of furry": 0.9, "score of shiny": 0.8, "score": 0.75,
    }  # fmt: skip
    for label in json.loads(files["labels.json"]):
        assert [attribute["name"] for attribute in label["attributes"]] == ["furry", "shiny"]
        assert {attribute["input_type"] for attribute in label["attributes"]} == {"checkbox"}


def test_a_tag_called_score_is_refused() -> None:
    with pytest.raises(InputError, match="'score'"):
        list(cvat.write([], Target(Vocabulary(("goal",), ("score",)), TARGET.folder)))


@pytest.mark.interop
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mask", AWKWARD.values(), ids=AWKWARD.keys())
def test_datumaro_itself_reads_it(mask: Array, tmp_path: Path) -> None:
    datumaro = import_module("datumaro")
    photo = make_photo(mask, "deep/ü.png")
    for name, content in make_files(cvat.write, photo).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "images/deep").mkdir(parents=True)
    Image.new("RGB", photo.size).save(tmp_path / "images" / photo.name)
    (item,) = datumaro.Dataset.import_from(str(tmp_path), "datumaro")
    assert item.id == "deep/ü"
    assert item.media.size == mask.shape
    (annotation,) = item.annotations
    assert_array_equal(annotation.image, mask)
    assert annotation.label == 0
    assert annotation.attributes["furry"] is True
    assert annotation.attributes["score"] == 0.875
