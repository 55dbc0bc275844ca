"""Which photos an index is made of, links among them."""

from pathlib import Path

import pytest

from tagsight.index.sources import count_outside_links, list_source


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A photo, a link to it, two links to one photo outside, and a broken link."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out.jpg").touch()
    (tmp_path / "in/a.jpg").touch()
    for name, target in {"b.jpg": "in/a.jpg", "c.jpg": "out.jpg", "d.jpg": "out.jpg", "e.jpg": "gone.jpg"}.items():
        (tmp_path / "in" / name).symlink_to(tmp_path / target)
    return tmp_path / "in"


def test_links_to_photos_are_taken_and_those_that_lead_outside_counted(folder: Path) -> None:
    source = list_source(folder)
    assert [path.name for path in source.photos] == ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]
    assert [problem.path.name for problem in source.problems] == ["e.jpg"]
    assert count_outside_links(source) == 2


def test_the_same_of_photos_that_a_table_lists(folder: Path) -> None:
    (folder / "tags.csv").write_text("image,objects\n" + "".join(f"{name}.jpg,car\n" for name in "abcde"))
    source = list_source(folder)
    assert [path.name for path in source.photos] == ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]
    assert [problem.reason for problem in source.problems] == ["line 6: a broken link"]
    assert count_outside_links(source) == 2


def test_a_collection_reached_by_a_link_is_inside_itself(folder: Path) -> None:
    (folder.parent / "alias").symlink_to(folder)
    (folder / "tags.csv").write_text("image,objects\na.jpg,car\n")
    source = list_source(folder.parent / "alias")
    assert source.photos == (folder.parent / "alias/a.jpg",)
    assert count_outside_links(source) == 0


def test_tags_that_cannot_be_learned_do_not_keep_photos_from_the_index(folder: Path) -> None:
    (folder / "tags.csv").write_text("image,objects,attributes\na.jpg,orange;background,\nb.jpg,,orange\n")
    assert [path.name for path in list_source(folder).photos] == ["a.jpg", "b.jpg"]
