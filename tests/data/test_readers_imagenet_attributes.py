from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_folder import Make
from scipy.io import savemat

from tagsight.data.readers import open_collection
from tagsight.data.readers.imagenet_attributes import read_labels
from tagsight.errors import InputError

IMAGES = ("n01_10", "n01_11", "n02_7")
ATTRIBUTES = ("Black", "Furry")
LABELS = [[1, -1], [0, 1], [1, 1]]
SIDES = [("x1", "O"), ("x2", "O"), ("y1", "O"), ("y2", "O")]


def make_struct(**changes: Any) -> dict[str, Any]:
    """Lay the fields out as the release does: cells in a column and in a row, and a struct array."""
    boxes = np.empty((3, 1), dtype=SIDES)
    for number in range(3):
        boxes[number, 0] = (0.1, 0.5 + number / 10, 0.2, 0.9)
    return {
        "images": np.array(IMAGES, dtype=object).reshape(-1, 1),
        "attributes": np.array(ATTRIBUTES, dtype=object).reshape(1, -1),
        "labels": np.array(LABELS, dtype=np.float64),
        "bboxes": boxes,
    } | changes


def write(folder: Path, content: dict[str, Any]) -> Path:
    savemat(folder / "attrann.mat", content)
    return folder


def test_tags_are_the_positive_labels(make_folder: Make) -> None:
    root = write(make_folder(("n01/n01_10.JPEG", "n02_7.jpg")), {"attrann": make_struct()})
    collection = open_collection(root)
    assert collection.vocabulary == (("n01", "n02"), ("black", "furry"))
    assert [tuple(photo) for photo in collection.photos] == [
        (root / "n01" / "n01_10.JPEG", ("n01",), ("black",)),
        (root / "n02_7.jpg", ("n02",), ("black", "furry")),
    ]
    assert [problem.path.name for problem in collection.problems] == ["n01_11.JPEG"]


def test_synsets_get_their_first_word(make_folder: Make) -> None:
    root = make_folder(("far/n01_10.JPEG",), words_DOT_txt="n01\tCorgi, Welsh corgi\nn09\tother\n")
    collection = open_collection(write(root, {"attrann": make_struct()}), images=root / "far")
    assert collection.vocabulary.objects == ("corgi", "n02")


def test_two_synsets_of_one_word_stay_two(make_folder: Make) -> None:
    root = make_folder(("n01_10.JPEG",), words_DOT_txt="n01\tcrane\nn02\tCrane, derrick\n")
    collection = open_collection(write(root, {"attrann": make_struct()}))
    assert collection.vocabulary.objects == ("crane (n01)", "crane (n02)")


def test_labels_and_boxes_for_evaluation(tmp_path: Path) -> None:
    labels = read_labels(write(tmp_path, {"attrann": make_struct()}) / "attrann.mat")
    assert (labels.images, labels.attributes) == (IMAGES, ATTRIBUTES)
    np.testing.assert_array_equal(labels.labels, LABELS)
    np.testing.assert_allclose(labels.boxes, [[0.1, 0.2, 0.5 + n / 10, 0.9] for n in range(3)])


def test_boxes_may_be_a_cell_of_structs(tmp_path: Path) -> None:
    cell = np.empty((3, 1), dtype=object)
    for number in range(3):
        cell[number, 0] = {"x1": [0.1, 0.8], "x2": [0.3, 0.9], "y1": [0.2, 0.1], "y2": [0.4, 0.2]}
    labels = read_labels(write(tmp_path, {"attrann": make_struct(bboxes=cell)}) / "attrann.mat")
    np.testing.assert_allclose(labels.boxes, [[0.1, 0.2, 0.3, 0.4]] * 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"other": 1}, "no struct 'attrann'"),
        ({"attrann": "text"}, "no struct 'attrann'"),
        ({"attrann": {"images": 1}}, "no field 'attributes'"),
        ({"attrann": make_struct(images=np.arange(3))}, "'images' must be a list of names"),
        (
            {"attrann": make_struct(labels=np.zeros((2, 2)))},
            "shape \\(2, 2\\) where 3 images and 2 attributes",
        ),
        ({"attrann": make_struct(labels=np.full((3, 2), 4))}, "all in -1, 0, 1"),
        ({"attrann": make_struct(bboxes=np.zeros((3, 4)))}, "'bboxes' must be structs"),
        ({"attrann": make_struct(bboxes=make_struct()["bboxes"][:2])}, "2 'bboxes' where there are 3 images"),
    ],
)
def test_other_content_is_refused(tmp_path: Path, content: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_collection(write(tmp_path, content))


def test_files_that_are_not_matlab_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"attrann": make_struct()})
    whole = (tmp_path / "attrann.mat").read_bytes()
    v73 = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    for content in (b"", b"<html>", whole[:40], whole[:200], whole[: len(whole) // 2], v73 + bytes(512)):
        (tmp_path / "attrann.mat").write_bytes(content)
        with pytest.raises(InputError, match=r"attrann\.mat"):
            open_collection(tmp_path)
