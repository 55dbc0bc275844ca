"""Decisions applied to a collection: yes adds, no removes and is a negative, and nothing else changes."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from tagsight.data.readers import open_collection
from tagsight.data.vocabulary import tag_matrix
from tagsight.errors import InputError
from tagsight.review.decided import list_columns, open_decided, open_for_review
from tagsight.review.journal import locate_journal

from .made import decide, put_collection


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return put_collection(tmp_path / "photos")


def list_tags(place: Path, **options: object) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    collection = open_decided(place, **options).collection  # pyright: ignore[reportArgumentType]
    return {photo.path.name: (photo.objects, photo.attributes) for photo in collection.photos}


def test_without_a_journal_the_collection_is_unchanged(photos: Path) -> None:
    opened = open_decided(photos)
    assert opened.collection == open_collection(photos)
    assert (opened.n_decisions, opened.journal, opened.negatives.any()) == (0, None, False)
    assert opened.negatives.shape == (4, 4)


def test_yes_adds_and_no_removes_a_tag(photos: Path) -> None:
    decide(
        locate_journal(photos),
        ("a.jpg", "object", "horse", "no"),
        ("a.jpg", "object", "car", "yes"),
        ("b.jpg", "attribute", "striped", "yes"),
        ("c/d.jpg", "object", "horse", "no"),
        ("c/d.jpg", "attribute", "shiny", "no"),
        ("c/d.jpg", "attribute", "shiny", "unsay"),
    )
    assert list_tags(photos) == {
        "a.jpg": (("car",), ("furry",)),
        "b.jpg": (("horse",), ("striped",)),
        "d.jpg": (("car",), ("shiny",)),
        "e.jpg": ((), ()),
    }
    opened = open_decided(photos)
    columns = list_columns(opened.collection.vocabulary)
    negatives = [(0, columns["object", "horse"]), (2, columns["object", "horse"])]
    assert np.argwhere(opened.negatives).tolist() == sorted(map(list, negatives))
    assert not (opened.negatives & tag_matrix(opened.collection.photos, opened.collection.vocabulary)).any()
    assert (opened.n_decisions, opened.journal) == (4, locate_journal(photos))


def test_decisions_can_be_left_out_and_be_in_another_place(photos: Path, tmp_path: Path) -> None:
    before = list_tags(photos)
    decide(locate_journal(photos), ("a.jpg", "object", "horse", "no"))
    decide(tmp_path / "other.sqlite", ("e.jpg", "object", "car", "yes"))
    assert list_tags(photos, decisions=False) == before
    other = list_tags(photos, journal=tmp_path / "other.sqlite")
    assert other == before | {"e.jpg": (("car",), ())}
    with pytest.raises(InputError, match="there is no journal"):
        open_decided(photos, journal=tmp_path / "absent.sqlite")


def test_a_word_without_a_photo_is_not_learned(photos: Path) -> None:
    decide(locate_journal(photos), ("c/d.jpg", "object", "car", "no"), ("c/d.jpg", "attribute", "shiny", "no"))
    opened = open_decided(photos)
    assert opened.collection.vocabulary == (("horse",), ("furry",))
    assert opened.negatives.shape == (4, 2)


def test_photos_that_are_not_listed_are_added_by_decisions_alone(photos: Path) -> None:
    (photos / "new.jpg").touch()
    (photos / "other.jpg").touch()
    decide(locate_journal(photos), ("new.jpg", "object", "cow", "yes"), ("gone.jpg", "object", "cow", "yes"))
    opened = open_decided(photos).collection
    assert [photo.path.name for photo in opened.photos] == ["a.jpg", "b.jpg", "d.jpg", "e.jpg", "new.jpg"]
    (problem,) = opened.problems
    assert problem.path == Path("gone.jpg")
    assert "no such photo" in problem.reason


def test_a_folder_without_tags_is_a_collection_once_something_is_decided(photos: Path) -> None:
    (photos / "tags.csv").unlink()
    with pytest.raises(InputError, match=r"tags\.csv"):
        open_decided(photos)
    assert len(open_for_review(photos).photos) == 4
    decide(locate_journal(photos), ("a.jpg", "object", "horse", "yes"), ("b.jpg", "object", "horse", "no"))
    assert list_tags(photos) == {"a.jpg": (("horse",), ()), "b.jpg": ((), ())}


def test_names_in_the_journal_do_not_lead_out_of_the_folder(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.jpg").touch()
    decide(locate_journal(photos), ("a.jpg", "object", "horse", "yes"))
    connection = sqlite3.connect(locate_journal(photos))
    with connection:
        connection.execute(
            "INSERT INTO decisions (action, time, author, photo, kind, word, state, source)"
            "VALUES (9, '', 'ann', '../secret.jpg', 'object', 'horse', 'yes', 'user')"
        )
    connection.close()
    opened = open_decided(photos).collection
    assert len(opened.photos) == 4
    assert "leads out of the collection" in opened.problems[0].reason


def test_a_word_of_two_kinds_is_refused(photos: Path) -> None:
    decide(locate_journal(photos), ("b.jpg", "attribute", "horse", "yes"))
    with pytest.raises(InputError, match=r"'horse' is an object in 'a\.jpg' and an attribute in 'b\.jpg'"):
        open_decided(photos)


def test_all_photos_of_a_folder_are_reviewed_and_only_listed_ones_of_other_formats(photos: Path) -> None:
    (photos / "new.jpg").touch()
    (photos / ".hidden.jpg").touch()
    assert {photo.path.name for photo in open_for_review(photos).photos} == {
        "a.jpg", "b.jpg", "d.jpg", "e.jpg", "new.jpg",
    }  # fmt: skip
    (photos / "tags.csv").rename(photos / "metadata.csv")
    (photos / "metadata.csv").write_text("file_name,objects\na.jpg,horse\n")
    assert [photo.path.name for photo in open_for_review(photos).photos] == ["a.jpg"]


def test_a_folder_without_photos_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no photo"):
        open_for_review(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        open_for_review(tmp_path / "absent")
