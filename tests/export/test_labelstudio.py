"""Label Studio: masks decoded by a decoder written from the description of rle-pack, and by its own library."""

import json
from importlib import import_module
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from numpy.testing import assert_array_equal

from tagsight.export import labelstudio
from tagsight.export.labelstudio import encode_brush
from tagsight.types import Array

from .made import AWKWARD, RING, VOCABULARY, make_files, make_photo, masks


def decode_brush(data: bytes, shape: tuple[int, ...]) -> Array:
    """(H, W, 4) values; a bit reader."""
    bits = "".join(f"{byte:08b}" for byte in data)
    place = 0

    def read(n: int) -> int:
        nonlocal place
        place += n
        return int(bits[place - n : place], 2)

    count, word = read(32), read(5) + 1
    sizes = [read(4) + 1 for _ in range(4)]
    values: list[int] = []
    while len(values) < count:
        repeated = read(1)
        length = read(sizes[read(2)]) + 1
        values += [read(word)] * length if repeated else [read(word) for _ in range(length)]
    assert len(values) == count
    assert len(bits) - place < 8
    return np.array(values).reshape(*shape, 4)


@given(masks)
@example(np.ones((1, 1), bool))
@example(np.ones((128, 128), bool))  # a run of exactly 65536 values
@example(np.ones((127, 129), bool))
@example(np.arange(300 * 300).reshape(300, 300) == 89_999)
def test_brush_masks_are_exact(mask: Array) -> None:
    values = decode_brush(encode_brush(mask), mask.shape)
    assert_array_equal(values, np.repeat(255 * mask[..., None], 4, axis=2))


@pytest.mark.interop
@pytest.mark.parametrize("mask", AWKWARD.values(), ids=AWKWARD.keys())
def test_label_studio_itself_reads_them(mask: Array) -> None:
    brush = import_module("label_studio_sdk.converter.brush")
    values = brush.decode_rle(list(encode_brush(mask > 0)))
    assert_array_equal(values.reshape(*mask.shape, 4)[..., 3], 255 * mask)
    assert list(encode_brush(mask > 0)) == brush.mask2rle((255 * mask).astype(np.uint8))[: len(encode_brush(mask > 0))]


def test_a_task_has_predictions_that_fit_the_interface() -> None:
    files = make_files(labelstudio.write, make_photo(np.array([[0, 1, 2, 2]]), "folder é/a b&c.jpg"))
    (task,) = json.loads(files["tasks.json"])
    assert parse_qs(urlsplit(task["data"]["image"]).query) == {"d": ["folder é/a b&c.jpg"]}
    (prediction,) = task["predictions"]
    assert (prediction["model_version"], prediction["score"]) == ("tagsight", 0.875)
    horse, like_horse, car, like_car = prediction["result"]
    interface = ElementTree.fromstring(files["config.xml"])
    controls = {control.get("name"): control for control in interface}
    for result in prediction["result"]:
        control = controls[result["from_name"]]
        assert control.tag.lower() == result["type"]
        assert control.get("toName") == result["to_name"] == "image"
        offered = {option.get("value") for option in control}
        assert set(result["value"][result["type"]]) <= offered
        assert (result["original_width"], result["original_height"], result["image_rotation"]) == (4, 1, 0)
    assert (horse["id"], like_horse["id"]) == ("object-1", "object-1")
    assert (car["id"], like_car["id"]) == ("object-2", "object-2")
    assert (horse["value"]["brushlabels"], horse["score"]) == (["horse"], 0.875)
    assert horse["meta"]["text"] == ["horse 0.88, furry 0.90, shiny 0.80"]
    assert like_car["value"]["choices"] == ["furry", "shiny"]
    assert decode_brush(bytes(car["value"]["rle"]), (1, 4))[0, :, 3].tolist() == [0, 0, 255, 255]


@pytest.mark.interop
def test_label_studio_accepts_the_interface() -> None:
    interface = import_module("label_studio_sdk.label_interface").LabelInterface
    files = make_files(labelstudio.write, make_photo(RING))
    opened = interface(files["config.xml"].decode())
    opened.validate()
    (task,) = json.loads(files["tasks.json"])
    assert opened.validate_prediction(task["predictions"][0])


def test_without_attributes_there_are_no_choices() -> None:
    config = ElementTree.fromstring(labelstudio.make_config(VOCABULARY._replace(attributes=())))
    assert [control.tag for control in config] == ["Image", "BrushLabels"]


def test_a_photo_without_objects_is_a_task(tmp_path: Path) -> None:
    (task,) = json.loads(make_files(labelstudio.write, make_photo(RING * 0))["tasks.json"])
    assert task["predictions"] == [{"model_version": "tagsight", "score": 0.0, "result": []}]
