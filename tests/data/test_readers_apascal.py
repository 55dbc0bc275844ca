from pathlib import Path

import numpy as np
import pytest
from made_folder import Make

from tagsight.data.readers import apascal, open_collection
from tagsight.data.readers.captions import COLOURS, find_colours, read_colours
from tagsight.data.summary import summarise
from tagsight.data.vocabulary import tag_matrix
from tagsight.errors import InputError

CLASSES = "".join(f"class {number}\n" for number in range(1, 33)).replace(" ", "")


def make_apascal(make_folder: Make, boxes: str) -> Path:
    sets = "VOCdevkit__VOC2008__ImageSets__"
    return make_folder(
        tuple(f"VOCdevkit/VOC2008/JPEGImages/{name}.jpg" for name in "abc"),
        attribute_data__class_names_DOT_txt=CLASSES,
        attribute_data__attribute_names_DOT_txt="2D Boxy\nFoot/Shoe\n",
        attribute_data__apascal_train_DOT_txt=boxes,
        attribute_data__apascal_test_DOT_txt="c.jpg class1 1 1 9 9 1 1\n",
        pascal_sentences_DOT_json='{"a.jpg": {"captions": ["A gray horse."]}}',
        **{
            f"{sets}Main__train_DOT_txt": "a\nb\n",
            f"{sets}Main__val_DOT_txt": "c\n",
            f"{sets}Segmentation__train_DOT_txt": "b\n",
            f"{sets}Segmentation__val_DOT_txt": "c\n",
        },
    )


BOXES = "a.jpg class2 1 2 30 40 1 0\na.jpg class1 5 6 7 8 0 1\nb.jpg class2 1 1 2 2 0 0\n"


def test_tags_are_the_union_over_boxes(make_folder: Make) -> None:
    root = make_apascal(make_folder, BOXES)
    collection = open_collection(root, split="train")
    assert len(collection.vocabulary.objects) == 20
    assert collection.vocabulary.attributes == ("2d boxy", "foot/shoe")
    assert [photo[1:] for photo in collection.photos] == [
        (("class1", "class2"), ("2d boxy", "foot/shoe")),
        (("class2",), ()),
    ]
    assert collection.problems == ()


def test_colours_are_added_on_request(make_folder: Make) -> None:
    root = make_apascal(make_folder, BOXES)
    collection = open_collection(root, split="train", colours=True)
    assert collection.vocabulary.attributes[-10:] == COLOURS
    assert [photo.attributes for photo in collection.photos] == [("2d boxy", "foot/shoe", "grey"), ()]


def test_instances_and_masks(make_folder: Make) -> None:
    root = make_apascal(make_folder, BOXES)
    photos = root / "VOCdevkit/VOC2008/JPEGImages"
    assert apascal.read_instances(root, split="train")[:2] == (
        (photos / "a.jpg", "class2", (1, 2, 30, 40), ("2d boxy",)),
        (photos / "a.jpg", "class1", (5, 6, 7, 8), ("foot/shoe",)),
    )
    (only,) = apascal.read_instances(root, split="segmentation-train")
    assert apascal.mask_path(root, only.path) == root / "VOCdevkit/VOC2008/SegmentationClass/b.png"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a.jpg class1 1 2 3 4 1", "line 4: 7 values where 8 are expected"),
        ("a.jpg class31 1 2 3 4 1 1", "line 4: class 'class31' is not one of the first 20"),
        ("a.jpg class1 1 2 x 4 1 1", "line 4: the box must be four whole numbers"),
        ("a.jpg class1 1 2 3 4 1 2", "each attribute 0 or 1"),
    ],
)
def test_bad_lines_are_reported(make_folder: Make, line: str, message: str) -> None:
    root = make_apascal(make_folder, BOXES + line)
    collection = open_collection(root, split="train")
    assert len(collection.photos) == 2
    assert message in collection.problems[0].reason
    with pytest.raises(InputError, match=message):
        apascal.read_instances(root, split="train")


def test_the_split_must_be_given(make_folder: Make) -> None:
    root = make_apascal(make_folder, BOXES)
    with pytest.raises(InputError, match="no split was chosen; choose one of train, test, segmentation-train"):
        open_collection(root)
    with pytest.raises(InputError, match="no split 'val'"):
        open_collection(root, split="val")


def test_colour_rule() -> None:
    assert find_colours(["A Gray-ish dog.", "Red, red wine"]) == ("grey", "red")
    assert find_colours(["A black and white photo", "a black-and-white shot of blackbirds"]) == ()
    assert find_colours(["a black and white cat", "white cat"]) == ("white",)


@pytest.mark.parametrize("content", ["[]", '{"a.jpg": ["red"]}', '{"a.jpg": {"captions": "red"}}'])
def test_bad_captions_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "captions.json").write_text(content)
    with pytest.raises(InputError, match=r"captions\.json"):
        read_colours(tmp_path / "captions.json")


@pytest.mark.parametrize(("split", "photos", "boxes"), [("train", 2113, 6340), ("test", 2227, 6355)])
def test_real_counts(real_data: Path, split: str, photos: int, boxes: int) -> None:
    root = real_data / "apascal"
    collection = open_collection(root, split=split)
    assert len(collection.photos) == photos
    assert collection.problems == ()
    assert (len(collection.vocabulary.objects), len(collection.vocabulary.attributes)) == (20, 64)
    summary = summarise(collection)
    assert summary.objects_per_photo == pytest.approx(1.5, abs=0.1)
    assert summary.attributes_per_photo == pytest.approx(12, abs=0.5)
    assert summary.untagged == ()
    instances = apascal.read_instances(root, split=split)
    assert len(instances) == boxes
    matrix = tag_matrix(instances, collection.vocabulary)
    assert matrix[:, 20:].sum() / boxes == pytest.approx(7.2, abs=0.3)
    place = {photo.path: row for row, photo in enumerate(collection.photos)}
    union = np.zeros((photos, 84), dtype=np.uint8)
    np.maximum.at(union, [place[instance.path] for instance in instances], matrix)
    np.testing.assert_array_equal(union, tag_matrix(collection.photos, collection.vocabulary))


@pytest.mark.parametrize(("split", "photos"), [("segmentation-train", 326), ("segmentation-test", 313)])
def test_real_segmentation_split(real_data: Path, split: str, photos: int) -> None:
    root = real_data / "apascal"
    collection = open_collection(root, split=split)
    assert len(collection.photos) == photos
    assert all(apascal.mask_path(root, photo.path).is_file() for photo in collection.photos)
    assert {instance.path for instance in apascal.read_instances(root, split=split)} == {
        photo.path for photo in collection.photos
    }


def test_real_colours(real_data: Path) -> None:
    colours = read_colours(real_data / "apascal" / "pascal_sentences.json")
    assert len(colours) == 1000
    assert all(sum(colour in found for found in colours.values()) >= 20 for colour in COLOURS)
    collection = open_collection(real_data / "apascal", split="train", colours=True)
    assert len(collection.vocabulary.attributes) == 74
