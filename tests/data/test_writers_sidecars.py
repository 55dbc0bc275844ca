"""Tags in sidecars: which file is changed, which words, and that they are read back."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from tests.packets import DIGIKAM, LIGHTROOM, NESTED, SUBJECT, TAGS_LIST, list_items, take_out

from tagsight.data.collection import Problem
from tagsight.data.readers import open_collection
from tagsight.data.readers.xmp import LIMIT, find_keywords
from tagsight.data.tag_changes import TagChange
from tagsight.data.writers import plan_changes
from tagsight.data.writers.sidecars import plan_sidecar_changes
from tagsight.storage.edits import FileChange, write_change


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.jpg", "b.jpg"):
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    return tmp_path


def add(word: str, photo: str = "a.jpg") -> TagChange:
    return TagChange(photo, word, "object", True)


def remove(word: str, photo: str = "a.jpg") -> TagChange:
    return TagChange(photo, word, "object", False)


def apply(root: Path, *changes: TagChange) -> list[str]:
    """Make the changes; returns the reasons of those that cannot be made."""
    planned = list(plan_sidecar_changes(root, changes))
    for one in planned:
        if isinstance(one, FileChange):
            write_change(one)
    return [one.reason for one in planned if isinstance(one, Problem)]


def list_sidecars(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*.xmp")}


def test_a_new_sidecar_has_the_words_in_both_forms(folder: Path) -> None:
    assert apply(folder, add("Golden Gate"), add("<&> é"), remove("cat")) == []
    content = (folder / "a.jpg.xmp").read_bytes()
    assert list_items(content, SUBJECT) == list_items(content, NESTED) == ["Golden Gate", "<&> é"]
    assert list_sidecars(folder) == {"a.jpg.xmp"}


@pytest.mark.parametrize(
    ("existing", "photos", "expected"),
    [
        ((), (), "a.jpg.xmp"),
        (("other.jpg.xmp",), (), "a.jpg.xmp"),
        (("other.xmp",), (), "a.xmp"),
        (("other.xmp",), ("a.CR2",), "a.jpg.xmp"),  # a.xmp would be the raw file's as well
        (("a.xmp",), ("a.png",), "a.jpg.xmp"),
        (("a.xmp",), ("a.HEIC",), "a.jpg.xmp"),
        (("other.heic.xmp",), (), "a.jpg.xmp"),
        (("a.xmp", "one.jpg.xmp", "two.jpg.xmp"), (), "a.xmp"),
        (("a.xmp", "a.jpg.xmp"), (), "a.jpg.xmp"),
    ],
)
def test_the_naming_of_the_folder_is_followed(
    folder: Path, existing: tuple[str, ...], photos: tuple[str, ...], expected: str
) -> None:
    for name in existing:
        (folder / name).write_bytes(LIGHTROOM)
    for name in photos:
        (folder / name).touch()
    assert apply(folder, add("cat")) == []
    assert "cat" in find_keywords((folder / expected).read_bytes())
    assert list_sidecars(folder) == {*existing, expected}
    for name in {*existing} - {expected}:
        assert (folder / name).read_bytes() == LIGHTROOM


@pytest.mark.parametrize("packet", [LIGHTROOM, DIGIKAM])
@pytest.mark.parametrize("name", ["a.jpg.xmp", "a.xmp"])
def test_changes_keep_the_rest_and_are_undone(folder: Path, packet: bytes, name: str) -> None:
    (folder / name).write_bytes(packet)
    (folder / name).chmod(0o640)
    assert apply(folder, add("cat"), add("Horse")) == []
    changed = (folder / name).read_bytes()
    assert take_out(changed) == packet
    assert find_keywords(changed).count("horse") == 1
    assert apply(folder, add("cat"), add("Horse")) == []
    assert (folder / name).read_bytes() == changed
    assert apply(folder, remove("cat")) == []
    assert find_keywords((folder / name).read_bytes()) == find_keywords(packet)
    assert take_out((folder / name).read_bytes()) == packet
    assert (folder / name).stat().st_mode & 0o777 == 0o640


def test_the_list_that_digikam_reads_first_is_extended(folder: Path) -> None:
    (folder / "a.jpg.xmp").write_bytes(DIGIKAM)
    apply(folder, add("cat"), add("Animal"))
    content = (folder / "a.jpg.xmp").read_bytes()
    assert list_items(content, TAGS_LIST) == ["animal/horse", "cat"]
    assert list_items(content, NESTED) == []
    assert list_items(content, SUBJECT) == ["café & bar", "café", "cat"]


def test_words_of_the_user_are_never_removed(folder: Path) -> None:
    (folder / "a.jpg.xmp").write_bytes(LIGHTROOM)
    (reason,) = apply(folder, remove("Holiday"), remove("missing"))
    assert reason == "'Holiday' is kept, since tagsight did not write it: remove it with your photo manager"
    assert (folder / "a.jpg.xmp").read_bytes() == LIGHTROOM


def test_words_inside_the_photo_are_neither_repeated_nor_hidden(folder: Path) -> None:
    before = Image.new("RGB", (4, 4))
    before.save(folder / "a.jpg", xmp=DIGIKAM)
    photo = (folder / "a.jpg").read_bytes()
    assert apply(folder, add("horse")) == []
    assert list_sidecars(folder) == set()
    (reason,) = apply(folder, remove("horse"))
    assert "is kept" in reason
    assert apply(folder, add("cat")) == []
    content = (folder / "a.jpg.xmp").read_bytes()
    assert (list_items(content, SUBJECT), list_items(content, NESTED)) == (["cat"], [])
    assert (folder / "a.jpg").read_bytes() == photo


def test_the_keywords_of_the_photo_and_of_both_sidecars_are_read_back(folder: Path) -> None:
    Image.new("RGB", (4, 4)).save(folder / "a.jpg", xmp=LIGHTROOM)
    (folder / "a.xmp").write_bytes(DIGIKAM)
    apply(folder, add("cat"))
    (folder / "a.xmp").rename(folder / "a.jpg.xmp")
    (folder / "a.xmp").write_bytes(LIGHTROOM.replace(b"holiday", b"dog").replace(b"horse", b"dog"))
    words = folder / "words.csv"
    words.write_text(
        "word,kind\n" + "".join(f"{word},object\n" for word in ("holiday", "horse", "animal", "cat", "dog"))
    )
    (photo, _) = open_collection(folder, format="keywords", words=words).photos
    assert set(photo.objects) == {"holiday", "horse", "animal", "cat", "dog"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"not XML", "not valid XML"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "DOCTYPE is refused"),
        (DIGIKAM.decode().encode("utf-16"), "not in UTF-8"),
        (b" " * (LIMIT + 1), "over the limit"),
    ],
)
def test_a_sidecar_that_cannot_be_edited_is_kept(folder: Path, content: bytes, reason: str) -> None:
    (folder / "a.jpg.xmp").write_bytes(content)
    (problem,) = apply(folder, add("cat"), add("cat", "b.jpg"))
    assert reason in problem
    assert "\n" not in problem
    assert (folder / "a.jpg.xmp").read_bytes() == content
    assert "cat" in find_keywords((folder / "b.jpg.xmp").read_bytes())


def test_photos_whose_names_differ_in_a_second_suffix_do_not_share_a_sidecar(folder: Path) -> None:
    (folder / "a.jpg.png").touch()
    (folder / "a.jpg.xmp").write_bytes(LIGHTROOM)
    apply(folder, add("cat", "a.jpg.png"))
    assert (folder / "a.jpg.xmp").read_bytes() == LIGHTROOM
    assert list_sidecars(folder) == {"a.jpg.xmp", "a.jpg.png.xmp"}


def test_links_to_folders_are_not_followed(folder: Path) -> None:
    collection = folder / "collection"
    collection.mkdir()
    (collection / "linked").symlink_to("..")
    (folder / "link to the collection").symlink_to("collection")
    (collection / "c.jpg").symlink_to("../a.jpg")
    (problem,) = apply(folder / "link to the collection", add("cat", "linked/a.jpg"), add("cat", "c.jpg"))
    assert "in a folder that a link leads to" in problem
    assert list_sidecars(folder) == {"collection/c.jpg.xmp"}


def test_a_linked_sidecar_is_kept(folder: Path) -> None:
    (folder / "other").write_bytes(LIGHTROOM)
    (folder / "a.jpg.xmp").symlink_to("other")
    (problem,) = apply(folder, add("cat"))
    assert "is a link" in problem
    assert (folder / "other").read_bytes() == LIGHTROOM


@pytest.mark.parametrize("photo", ["../a.jpg", "missing.jpg", "/etc/passwd", ".", "a\0.jpg", "\udcff.jpg", "b.xmp"])
def test_only_photos_of_the_folder_get_sidecars(folder: Path, photo: str) -> None:
    (folder / "inside").mkdir()
    (folder / "inside/b.xmp").write_bytes(LIGHTROOM)
    before = sorted(os.listdir(folder))
    (problem,) = apply(folder / "inside", add("cat", photo))
    assert problem
    assert sorted(os.listdir(folder)) == before
    assert os.listdir(folder / "inside") == ["b.xmp"]
    assert (folder / "inside/b.xmp").read_bytes() == LIGHTROOM


def test_a_word_of_two_kinds_is_one_keyword(folder: Path) -> None:
    apply(folder, TagChange("a.jpg", "orange", "object", True), TagChange("a.jpg", "orange", "attribute", False))
    assert list_items((folder / "a.jpg.xmp").read_bytes(), SUBJECT) == ["orange"]


def test_sidecars_are_read_when_their_turn_comes(folder: Path) -> None:
    planned: Iterator[FileChange | Problem] = plan_changes(folder, [add("cat"), add("cat", "b.jpg")], "xmp")
    first = next(planned)
    (folder / "b.jpg.xmp").write_bytes(LIGHTROOM)
    second = next(planned)
    assert isinstance(first, FileChange)
    assert isinstance(second, FileChange)
    assert take_out(second.after) == LIGHTROOM
