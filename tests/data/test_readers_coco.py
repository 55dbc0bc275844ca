import json
from pathlib import Path
from typing import Any

import pytest
from made_folder import Make

from tagsight.data.readers import open_collection
from tagsight.errors import InputError

CONTENT: dict[str, Any] = {
    "images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}],
    "categories": [{"id": 18, "name": "Dog"}, {"id": 3, "name": "car"}],
    "annotations": [
        {"image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1], "attributes": ["Shiny", "red"]},
        {
            "image_id": 1,
            "category_id": 18,
            "attributes": {"furry": True, "occluded": False, "colour": "Brown"},
        },
        {"image_id": 1, "category_id": 18},
    ],
}


def make_coco(make_folder: Make, content: object, *, at: str = "annotations__instances_val") -> Path:
    return make_folder(("val/a.jpg", "val/b.jpg", "train/c.jpg"), **{f"{at}_DOT_json": json.dumps(content)})


def test_categories_and_attributes_of_a_photo(make_folder: Make) -> None:
    root = make_coco(make_folder, CONTENT)
    collection = open_collection(root)
    assert collection.vocabulary == (("dog", "car"), ("brown", "furry", "red", "shiny"))
    assert [photo.objects for photo in collection.photos] == [("dog", "car"), ()]
    assert collection.photos[0].attributes == ("brown", "furry", "red", "shiny")
    assert collection.root == root / "val"
    assert open_collection(root / "annotations" / "instances_val.json").photos == collection.photos


def test_attributes_by_id_keep_the_order_of_their_list(make_folder: Make) -> None:
    content = CONTENT | {
        "attributes": [{"id": 7, "name": "round"}, {"id": 8, "name": "flat"}],
        "annotations": [
            {"image_id": 1, "category_id": 3, "attribute_ids": [8, 7]},
            {"image_id": 2, "category_id": 3, "attributes": [9]},
        ],
    }
    collection = open_collection(make_coco(make_folder, content))
    assert collection.vocabulary.attributes == ("round", "flat")
    assert collection.photos[0].attributes == ("round", "flat")
    assert "attribute 9 is neither a name nor an id" in collection.problems[0].reason


def test_a_dict_of_attributes_takes_words_and_truths_only(make_folder: Make) -> None:
    settings = {"wet": "true", "dry": "False", "track_id": 4, "pose": " ", "old": None, "new": True}
    content = CONTENT | {"annotations": [{"image_id": 1, "category_id": 3, "attributes": settings}]}
    assert open_collection(make_coco(make_folder, content)).vocabulary.attributes == ("new", "wet")


def test_bad_entries_are_reported(make_folder: Make) -> None:
    content = CONTENT | {
        "images": [*CONTENT["images"], 5, {"id": 1, "file_name": "c.jpg"}, {"file_name": "d.jpg"}],
        "annotations": [
            *CONTENT["annotations"],
            "x",
            {"image_id": 9, "category_id": 3},
            {"image_id": [1], "category_id": 3},
            {"image_id": 1, "category_id": 99},
            {"image_id": 1, "category_id": 3, "attributes": "red"},
        ],
    }
    collection = open_collection(make_coco(make_folder, content))
    assert len(collection.photos) == 2
    assert [problem.reason.partition(":")[0] for problem in collection.problems] == [
        *(f"image {number}" for number in (3, 4, 5)),
        *(f"annotation {number}" for number in (4, 5, 6, 7, 8)),
    ]


def test_several_files_are_splits(make_folder: Make) -> None:
    make_coco(
        make_folder,
        CONTENT | {"images": [{"id": 1, "file_name": "c.jpg"}]},
        at="annotations__instances_train",
    )
    root = make_coco(make_folder, CONTENT)
    assert [photo.path.name for photo in open_collection(root, split="train").photos] == ["c.jpg"]
    for split in (None, "test"):
        with pytest.raises(InputError, match="choose one of the splits train, val"):
            open_collection(root, split=split)
    with pytest.raises(InputError, match="leave the split out"):
        open_collection(root / "annotations" / "instances_val.json", split="val")


def test_photos_elsewhere(make_folder: Make) -> None:
    content = CONTENT | {"images": [{"id": 1, "file_name": "e.jpg"}]}
    root = make_coco(make_folder, content)
    make_folder(("far/e.jpg",))
    with pytest.raises(InputError, match="give their folder as 'images'"):
        open_collection(root)
    assert open_collection(root, images=root / "far").photos[0].path == root / "far" / "e.jpg"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "is not COCO"),
        ({"images": [], "annotations": []}, "is not COCO"),
        (CONTENT | {"images": {}}, "'images' must be a list"),
        (CONTENT | {"categories": [{"id": 1}]}, "must be an object with 'id' and 'name'"),
        (
            CONTENT | {"categories": [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}]},
            "two entries have the id 1",
        ),
    ],
)
def test_unusable_files_are_refused(make_folder: Make, content: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_collection(make_coco(make_folder, content))
