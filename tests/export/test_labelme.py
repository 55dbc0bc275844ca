"""LabelMe files, filled by a rasteriser of the tests, and opened by LabelMe if it is installed."""

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.testing import assert_array_equal
from PIL import Image

from tagsight.export import FORMATS, labelme, write_export
from tagsight.export.output import Target
from tagsight.types import Array

from .made import AWKWARD, DETACHED, RING, VOCABULARY, fill_polygons, make_files, make_photo, owners


@given(owners)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_shapes_fill_the_masks(owner: Array) -> None:
    photo = make_photo(owner)
    content = json.loads(make_files(labelme.write, photo)["a.json"])
    assert (content["imageWidth"], content["imageHeight"], content["imageData"]) == (*photo.size, None)
    for n, instance in enumerate(photo.instances):
        shapes = [shape for shape in content["shapes"] if shape["group_id"] == n + 1]
        assert {shape["label"] for shape in shapes} == {instance.name}
        filled = fill_polygons([np.array(shape["points"]) for shape in shapes], owner.shape)
        assert_array_equal(filled, photo.mask(n))


def test_a_shape_carries_attributes_and_scores() -> None:
    shapes = json.loads(make_files(labelme.write, make_photo(DETACHED))["a.json"])["shapes"]
    assert len(shapes) == 4
    assert {shape["group_id"] for shape in shapes} == {1}
    for shape in shapes:
        assert shape["flags"] == {"furry": True, "shiny": True}
        assert shape["description"] == "horse 0.88, furry 0.90, shiny 0.80"


def test_the_photo_is_found_from_the_file(tmp_path: Path) -> None:
    photo = make_photo(RING, "deep/a.jpg", path=tmp_path / "photos/deep/a.jpg")
    target = Target(VOCABULARY, tmp_path / "out")
    content = json.loads(make_files(labelme.write, photo, target=target)["deep/a.json"])
    assert content["imagePath"] == "../../photos/deep/a.jpg"


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("corrected by hand")
    photos = [make_photo(RING), make_photo(RING, "b.jpg")]
    for _ in range(2):
        (problem,) = write_export(photos, FORMATS["labelme"], Target(VOCABULARY, tmp_path))
        assert problem.path == tmp_path / "a.json"
        assert "is there already" in problem.reason
    assert (tmp_path / "a.json").read_text() == "corrected by hand"
    assert (tmp_path / "b.json").exists()


@pytest.mark.interop
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mask", AWKWARD.values(), ids=AWKWARD.keys())
def test_labelme_itself_opens_it(mask: Array, tmp_path: Path) -> None:
    label_file = import_module("labelme._label_file")
    rotated = Image.new("RGB", mask.shape)  # on its side, with the EXIF orientation
    exif = Image.Exif()
    exif[0x0112] = 6
    rotated.save(tmp_path / "a.png", exif=exif)
    photo = make_photo(mask, "a.png", path=tmp_path / "a.png")
    target = Target(VOCABULARY, tmp_path / "out")
    (content,) = make_files(labelme.write, photo, target=target).values()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.json").write_bytes(content)
    opened = label_file.read_label_file(str(tmp_path / "out/a.json"))  # compares width and height with the photo's
    filled = fill_polygons([np.array(shape["points"]) for shape in opened.shapes], mask.shape)
    assert_array_equal(filled, mask)
    assert opened.shapes[0]["flags"] == {"furry": True, "shiny": True}
