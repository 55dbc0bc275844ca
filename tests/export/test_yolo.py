"""YOLO lines, read as the documentation of Ultralytics describes them."""

from importlib import import_module

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tagsight.export import yolo
from tagsight.export.yolo import quote_yaml
from tagsight.types import Array

from .made import DETACHED, RING, fill_polygons, make_files, make_photo, owners


def read_lines(text: str, size: tuple[int, int]) -> list[tuple[int, Array]]:
    """Classes and polygons in pixels."""
    lines: list[tuple[int, Array]] = []
    for line in text.splitlines():
        number, *shares = line.split(" ")
        values = np.array(shares, float).reshape(-1, 2)
        assert len(values) >= 3
        assert np.all((values >= 0) & (values <= 1))
        lines.append((int(number), values * size))
    return lines


@given(owners)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_lines_fill_the_classes(owner: Array) -> None:
    photo = make_photo(owner)
    lines = read_lines(make_files(yolo.write, photo)["labels/a.txt"].decode(), photo.size)
    for category in (0, 1):
        expected = np.zeros(owner.shape, bool)
        for n, instance in enumerate(photo.instances):
            expected |= photo.mask(n) & (instance.category == category)
        polygons = [polygon for number, polygon in lines if number == category]
        assert all(np.abs(polygon - polygon.round()).max() < 1e-4 for polygon in polygons)
        assert_array_equal(fill_polygons([polygon.round() for polygon in polygons], owner.shape), expected)


def test_one_line_per_piece_and_none_without_objects() -> None:
    files = make_files(yolo.write, make_photo(DETACHED, "x/a.jpg"), make_photo(RING * 0, "y/a.jpg"))
    assert len(files["labels/x/a.txt"].splitlines()) == 4
    assert files["labels/y/a.txt"] == b""


def test_the_names_are_yaml() -> None:
    yaml = import_module("yaml")
    content = yaml.safe_load(make_files(yolo.write, make_photo(RING))["data.yaml"])
    assert content == {"train": "images", "val": "images", "names": {0: "horse", 1: "car"}}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_name_survives_yaml(name: str) -> None:
    yaml = import_module("yaml")
    assert yaml.safe_load(f"0: {quote_yaml(name)}\n") == {0: name}
