import json
from pathlib import Path

import numpy as np
import pytest
from made_folder import Make
from PIL import Image

from tagsight.data.readers import labelme, open_collection
from tagsight.errors import InputError


def make_labelme(make_folder: Make, entries: object, classes: object = ("void", "Sky", "tree")) -> Path:
    return make_folder(
        ("images/a.jpg", "images/b.jpg"),
        index_DOT_json=json.dumps(entries),
        classes33_DOT_json=json.dumps(classes),
    )


A = {"name": "a", "split": "training", "classes33": ["tree"]}
B = {"name": "b", "split": "validation", "classes33": ["sky", "tree"]}


def test_photos_of_one_split_in_mask_order(make_folder: Make) -> None:
    root = make_labelme(make_folder, [A, B])
    collection = open_collection(root, split="test")
    assert collection.vocabulary == (("sky", "tree"), ())
    assert [tuple(photo) for photo in collection.photos] == [(root / "images/b.jpg", ("sky", "tree"), ())]
    assert labelme.mask_path(root, root / "images/b.jpg") == root / "masks33/b.png"
    assert [photo.path.name for photo in open_collection(root, split="train").photos] == ["a.jpg"]


def test_bad_entries_are_reported(make_folder: Make) -> None:
    bad = [3, {"split": "dev"}, A | {"name": 1}, A | {"classes33": "tree"}]
    collection = open_collection(make_labelme(make_folder, [*bad, A]), split="train")
    assert len(collection.photos) == 1
    assert [problem.reason.partition(":")[0] for problem in collection.problems] == [
        f"entry {number}" for number in (1, 2, 3, 4)
    ]


@pytest.mark.parametrize(("entries", "classes"), [({}, ["void", "sky"]), ([A], ["sky"]), ([A], {"void": 0})])
def test_unusable_files_are_refused(make_folder: Make, entries: object, classes: object) -> None:
    with pytest.raises(InputError, match="must be a list"):
        open_collection(make_labelme(make_folder, entries, classes), split="train")


def test_the_split_must_be_given(make_folder: Make) -> None:
    with pytest.raises(InputError, match="choose one of train, test"):
        open_collection(make_labelme(make_folder, [A, B]))


@pytest.mark.parametrize(("split", "photos"), [("train", 2127), ("test", 206)])
def test_real_counts(real_data: Path, split: str, photos: int) -> None:
    root = real_data / "labelme_outdoor"
    collection = open_collection(root, split=split)
    assert len(collection.photos) == photos
    assert collection.problems == ()
    assert len(collection.vocabulary.objects) == 33
    for photo in collection.photos[:: photos // 20]:
        values = np.unique(np.asarray(Image.open(labelme.mask_path(root, photo.path))))
        assert photo.objects == tuple(collection.vocabulary.objects[value - 1] for value in values if value)


def test_real_classes_that_occur(real_data: Path) -> None:
    root = real_data / "labelme_outdoor"
    found = {
        word
        for split in labelme.SPLITS
        for photo in open_collection(root, split=split).photos
        for word in photo.objects
    }
    assert len(found) == 26
