import json

import pytest
from made_folder import Make

from tagsight.data.readers import open_collection
from tagsight.data.summary import summarise


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
