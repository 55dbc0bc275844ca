import json

import pytest
from made_folder import Make

from tagsight.data.readers import open_collection
from tagsight.data.summary import find_weaknesses, summarise


def test_counts(make_folder: Make) -> None:
    names = tuple(f"{number}.jpg" for number in range(6))
    lines = [f"{name},horse,{'furry' if name < '3' else ''}" for name in names]
    root = make_folder(
        (*names, "bare.jpg", "unlisted.png", ".hidden/x.jpg", "notes.txt"),
        tags_DOT_csv="image,objects,attributes\n" + "\n".join([*lines, "bare.jpg,,", "gone.jpg,car,"]),
    )
    summary = summarise(open_collection(root))
    assert summary.photos == 7
    assert summary.objects == (("horse", 6),)
    assert summary.attributes == (("furry", 3),)
    assert summary.objects_per_photo == pytest.approx(6 / 7)
    assert summary.attributes_per_photo == pytest.approx(3 / 7)
    assert summary.rare == ("furry",)
    assert summary.untagged == (root / "bare.jpg",)
    assert summary.unlisted == (root / "unlisted.png",)
    assert [problem.path.name for problem in summary.problems] == ["gone.jpg"]
    assert summarise(open_collection(root), rare_below=2).rare == ()


def test_the_record_survives_json(make_folder: Make) -> None:
    root = make_folder(
        ("a\n🐎.jpg",), tags_DOT_jsonl='{"image": "a\\n🐎.jpg", "objects": ["Pferd"]}\n{"image": "b.jpg"}'
    )
    data = summarise(open_collection(root)).to_json()
    assert json.loads(json.dumps(data)) == data
    assert data["objects"] == [{"name": "pferd", "photos": 1}]
    assert data["problems"] == [{"path": str(root / "b.jpg"), "reason": "line 2: no such photo"}]
    assert data["unlisted"] == []


def test_broken_links_on_disk_are_reported(make_folder: Make) -> None:
    root = make_folder(("a.jpg",), tags_DOT_csv="image,objects\na.jpg,car\n")
    (root / "dead.jpg").symlink_to(root / "nowhere.jpg")
    summary = summarise(open_collection(root))
    assert [(problem.path.name, "broken link" in problem.reason) for problem in summary.problems] == [
        ("dead.jpg", True)
    ]


def test_a_link_beside_its_listed_target_is_not_listed(make_folder: Make) -> None:
    root = make_folder(("a.jpg",), tags_DOT_csv="image,objects\na.jpg,car\n")
    (root / "b.jpg").symlink_to("a.jpg")
    assert summarise(open_collection(root)).unlisted == (root / "b.jpg",)


def test_problems_of_the_reader_are_not_reported_twice(make_folder: Make) -> None:
    root = make_folder(("photos/a.jpg", "photos/b.cr2"), words_DOT_csv="word,kind\nhorse,object\n")
    summary = summarise(open_collection(root / "photos", format="keywords", words=root / "words.csv"))
    assert [problem.path.name for problem in summary.problems] == ["photos", "a.jpg"]


def test_weaknesses_of_a_small_collection_are_named(make_folder: Make) -> None:
    names = tuple(f"{number}.jpg" for number in range(6))
    lines = [f"{name},{'horse' if name < '5' else ''},{'furry' if name < '4' else ''}" for name in names]
    collection = open_collection(make_folder(names, tags_DOT_csv="image,objects,attributes\n" + "\n".join(lines)))
    assert find_weaknesses(collection, fewest_photos=7) == [
        "number of photos: 6; with fewer than 7, scores are not calibrated",
        "photos without a tag: 1 of 6; they are used as negative examples of every tag",
        "tags on fewer than 5 photos: 1 of 2 ('furry'); add photos of them",
    ]
    assert find_weaknesses(collection, fewest_photos=6, rare_below=4) == [
        "photos without a tag: 1 of 6; they are used as negative examples of every tag"
    ]


def test_a_collection_without_any_tag_has_one_weakness_more(make_folder: Make) -> None:
    collection = open_collection(make_folder(("a.jpg",), tags_DOT_csv="image,objects\na.jpg,\n"))
    (weakness,) = find_weaknesses(collection, fewest_photos=1)
    assert weakness.startswith("photos without a tag: ")
