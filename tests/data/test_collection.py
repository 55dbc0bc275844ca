import os
from pathlib import Path

import pytest
from made_folder import Make

from tagsight.data.collection import Collection, Row, Table, collect, find_listed, resolve_photo
from tagsight.data.synonyms import Synonyms
from tagsight.data.vocabulary import Vocabulary
from tagsight.errors import InputError

NOTHING = Vocabulary((), ())


def row(image: str, objects: str = "", attributes: str = "") -> Row:
    return Row(image, tuple(objects.split(";")), tuple(attributes.split(";")), "line 2")


def collect_rows(root: Path, *rows: Row, declared: Vocabulary = NOTHING) -> Collection:
    return collect(Table(root / "tags.csv", root, rows, declared), name="test")


def reasons(collection: Collection) -> list[str]:
    return [problem.reason for problem in collection.problems]


def test_tags_are_normalised_merged_and_ordered(make_folder: Make) -> None:
    root = make_folder(("a.jpg", "b.jpg"))
    collection = collect_rows(root, row("a.jpg", " Horse;;CAR;horse", "furry"), row("b.jpg", "", "Red; furry "))
    assert collection.vocabulary == (("car", "horse"), ("furry", "red"))
    assert [tuple(photo) for photo in collection.photos] == [
        (root / "a.jpg", ("car", "horse"), ("furry",)),
        (root / "b.jpg", (), ("furry", "red")),
    ]
    assert collection.problems == ()


def test_declared_words_keep_their_order_and_others_follow(make_folder: Make) -> None:
    root = make_folder(("a.jpg",))
    collection = collect_rows(root, row("a.jpg", "car;Horse;ant"), declared=Vocabulary(("Horse", "dog"), ()))
    assert collection.vocabulary.objects == ("horse", "dog", "ant", "car")
    assert collection.photos[0].objects == ("horse", "ant", "car")


def test_synonyms_rename_tags_and_the_declared_vocabulary(make_folder: Make) -> None:
    root = make_folder(("a.jpg",))
    table = Table(root, root, (row("a.jpg", "Pony", "pony"),), Vocabulary(("pony", "horse"), ()))
    collection = collect(table, name="test", synonyms=Synonyms({"pony": "horse"}, {}))
    assert collection.vocabulary == (("horse",), ("pony",))


def test_a_photo_listed_twice_is_kept_once_with_all_its_tags(make_folder: Make) -> None:
    root = make_folder(("a.jpg", "sub/b.jpg"))
    collection = collect_rows(root, row("a.jpg", "car"), row("sub/../a.jpg", "dog"), row("./a.jpg", "", "red"))
    (photo,) = collection.photos
    assert (photo.path, photo.objects, photo.attributes) == (root / "a.jpg", ("car", "dog"), ("red",))
    assert len(collection.problems) == 2
    assert all("more than once" in reason for reason in reasons(collection))


def test_bad_rows_are_reported_and_good_ones_kept(make_folder: Make, tmp_path: Path) -> None:
    root = make_folder(("in/good.jpg", "in/line\nbreak 🐎.jpg", "out.jpg"), in__folder_DOT_jpg__x="x") / "in"
    (root / "dead.jpg").symlink_to(tmp_path / "nowhere.jpg")
    (root / "loop.jpg").symlink_to(root / "loop.jpg")
    os.mkfifo(root / "pipe.jpg")
    bad = {
        "gone.jpg": "no such photo",
        "../out.jpg": "leads out of",
        "x/../../out.jpg": "leads out of",
        "dead.jpg": "a broken link",
        "loop.jpg": "a broken link",
        str(root / "good.jpg"): "absolute path",
        "folder.jpg": "not a file",
        "pipe.jpg": "not a file",
        "nul\0.jpg": "cannot be a file name",
        "\ud800.jpg": "not valid Unicode",
        " ": "no image name",
        "x" * 5000 + ".jpg": "no such photo",
    }
    good = ("good.jpg", "line\nbreak 🐎.jpg")
    collection = collect_rows(root, *(row(name, "car") for name in (*bad, *good)))
    assert [photo.path for photo in collection.photos] == [root / name for name in good]
    for problem, reason in zip(collection.problems, bad.values(), strict=True):
        assert problem.reason.startswith("line 2: ")
        assert reason in problem.reason
        str(problem.path).encode("utf-8")


def test_a_tag_that_is_not_text_is_reported(make_folder: Make) -> None:
    root = make_folder(("a.jpg", "b.jpg"))
    collection = collect_rows(root, row("a.jpg", "\ud800"), row("b.jpg", "car"))
    assert [photo.path.name for photo in collection.photos] == ["b.jpg"]
    assert "not valid Unicode text" in reasons(collection)[0]


def test_a_root_may_be_a_link(make_folder: Make) -> None:
    root = make_folder(("real/a.jpg",))
    (root / "alias").symlink_to(root / "real")
    collection = collect_rows(root / "alias", row("a.jpg", "car"))
    assert collection.photos[0].path == root / "alias" / "a.jpg"


def test_a_word_of_both_kinds_names_both_photos_and_the_remedy(make_folder: Make) -> None:
    root = make_folder(("a.jpg", "b.jpg", "c.jpg"))
    rows = (row("a.jpg", "car"), row("b.jpg", "Orange;wood"), row("c.jpg", "", "orange;wood"))
    with pytest.raises(InputError) as caught:
        collect_rows(root, *rows)
    message = str(caught.value)
    assert "'orange' is an object in 'b.jpg' and an attribute in 'c.jpg'" in message
    assert "'wood'" in message
    assert "'orange,orange thing,object'" in message
    table = Table(root, root, rows)
    apart = Synonyms({"orange": "orange thing", "wood": "wood thing"}, {})
    collection = collect(table, name="test", synonyms=apart)
    assert collection.vocabulary == (("car", "orange thing", "wood thing"), ("orange", "wood"))


def test_a_declared_word_of_the_other_kind_is_refused_too(make_folder: Make) -> None:
    with pytest.raises(InputError, match=r"object in the dataset's own list and an attribute in 'a\.jpg'"):
        collect_rows(make_folder(("a.jpg",)), row("a.jpg", "", "orange"), declared=Vocabulary(("Orange",), ()))


def test_no_usable_photo_is_an_error_that_shows_the_first(make_folder: Make) -> None:
    root = make_folder()
    with pytest.raises(InputError, match=r"none of the 2 photos in .*tags\.csv.*a\.jpg.*no such photo.*relative"):
        collect_rows(root, row("a.jpg"), row("b.jpg"))
    with pytest.raises(InputError, match=r"tags\.csv' lists no photo"):
        collect_rows(root)


def test_links_are_photos_wherever_they_lead(make_folder: Make) -> None:
    root = make_folder(("in/a.jpg", "out.jpg", "elsewhere/c.jpg"))
    (root / "in/b.jpg").symlink_to("a.jpg")
    (root / "in/o.jpg").symlink_to(root / "out.jpg")
    (root / "in/p.jpg").symlink_to(root / "out.jpg")
    (root / "in/sub").symlink_to(root / "elsewhere")
    names = ("a.jpg", "b.jpg", "o.jpg", "p.jpg", "sub/c.jpg")
    collection = collect_rows(root / "in", *(row(name, "car") for name in names))
    assert [photo.path for photo in collection.photos] == [root / "in" / name for name in names]
    assert collection.problems == ()


def test_dots_in_a_name_are_resolved_before_links(make_folder: Make) -> None:
    root = make_folder(("in/a.jpg", "elsewhere/b.jpg", "a.jpg"))
    (root / "in/sub").symlink_to(root / "elsewhere")
    assert resolve_photo(root / "in", "sub/../a.jpg") == root / "in/a.jpg"


@pytest.mark.parametrize("tag", ["background", "Free-1", "free-20"])
@pytest.mark.parametrize("kind", ["objects", "attributes"])
def test_reserved_names_are_refused_as_tags(make_folder: Make, tag: str, kind: str) -> None:
    root = make_folder(("a.jpg",))
    rows = (row("a.jpg", **{"objects": "car", kind: tag}),)
    with pytest.raises(InputError, match=rf"tag '{tag.lower()}' cannot be used.*--synonyms.*'{tag.lower()},"):
        collect_rows(root, *rows)
    renamed = {tag.lower(): "other"}
    collection = collect(Table(root, root, rows), name="test", synonyms=Synonyms(renamed, renamed))
    assert "other" in collection.vocabulary.names
    assert find_listed(Table(root, root, rows)) == ((root / "a.jpg",), ())


def test_words_that_resemble_reserved_ones_are_tags(make_folder: Make) -> None:
    collection = collect_rows(make_folder(("a.jpg",)), row("a.jpg", "free", "free-range;in the background"))
    assert collection.vocabulary.names == ("free", "free-range", "in the background")
