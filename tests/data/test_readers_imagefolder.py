import json

import pytest
from made_folder import Make

from tagsight.data.readers import open_collection
from tagsight.errors import InputError


def test_objects_and_attributes(make_folder: Make) -> None:
    root = make_folder(("a.jpg",), metadata_DOT_csv="file_name,text,objects,attributes\na.jpg,a caption,Car;Dog,red\n")
    collection = open_collection(root)
    assert collection.vocabulary == (("car", "dog"), ("red",))
    assert collection.problems == ()


def test_the_dict_of_detection_datasets(make_folder: Make) -> None:
    rows = [
        {"file_name": "a.jpg", "objects": {"bbox": [[0, 0, 1, 1]], "categories": ["car", "dog"]}},
        {"file_name": "b.jpg", "objects": {"bbox": [[0, 0, 1, 1]], "category": [3]}},
        {"file_name": "b.jpg", "objects": {"bbox": []}},
        {"file_name": "b.jpg", "objects": ["cat"]},
    ]
    root = make_folder(("a.jpg", "b.jpg"), metadata_DOT_jsonl="\n".join(map(json.dumps, rows)))
    collection = open_collection(root)
    assert [photo.objects for photo in collection.photos] == [("car", "dog"), ("cat",)]
    assert len(collection.problems) == 2
    assert "'category' is [3], not a list of words" in collection.problems[0].reason


def test_a_tags_column_takes_a_word_list(make_folder: Make) -> None:
    root = make_folder(
        ("a.jpg", "b.jpg"),
        metadata_DOT_csv="file_name,tags\na.jpg,Horse;FURRY;2019\nb.jpg,2019;sunset\n",
        words_DOT_csv="word,kind\nhorse,object\nfurry,attribute\n",
    )
    with pytest.raises(InputError, match="give a word list"):
        open_collection(root)
    collection = open_collection(root, words=root / "words.csv")
    assert collection.vocabulary == (("horse",), ("furry",))
    (problem,) = collection.problems
    assert problem.path == root / "words.csv"
    assert problem.reason.endswith("left out: '2019', 'sunset'")


def test_a_word_list_that_would_not_be_used_is_refused(make_folder: Make) -> None:
    root = make_folder(("a.jpg",), metadata_DOT_csv="file_name,objects\na.jpg,car\n")
    with pytest.raises(InputError, match="leave the word list out"):
        open_collection(root, words=root / "words.csv")


def test_splits(make_folder: Make) -> None:
    root = make_folder(
        ("train/a.jpg", "test/b.jpg", "other/c.jpg"),
        train__metadata_DOT_csv="file_name,objects\na.jpg,car\n",
        test__metadata_DOT_jsonl='{"file_name": "b.jpg", "objects": ["dog"]}',
    )
    assert open_collection(root, split="test").vocabulary.objects == ("dog",)
    with pytest.raises(InputError, match="choose one of test, train"):
        open_collection(root)
    with pytest.raises(InputError, match=r"no split 'other' .*; splits: test, train"):
        open_collection(root, split="other")


@pytest.mark.parametrize(
    ("header", "message"),
    [("image,objects", "no column 'file_name'"), ("file_name,text", "has no tags")],
)
def test_bad_headers_are_refused(make_folder: Make, header: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_collection(make_folder(("a.jpg",), metadata_DOT_csv=f"{header}\na.jpg,car\n"))
