"""The photos of which an index is built, with links."""

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


def test_links_to_photos_are_indexed_and_those_that_lead_outside_counted(folder: Path) -> None:
    source = list_source(folder)
    assert [path.name for path in source.photos] == ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]
    assert [problem.path.name for problem in source.problems] == ["e.jpg"]
    assert count_outside_links(source) == 2


def test_links_in_a_tags_file_are_indexed_and_counted_too(folder: Path) -> None:
    (folder / "tags.csv").write_text("image,objects\n" + "".join(f"{name}.jpg,car\n" for name in "abcde"))
    source = list_source(folder)
    assert [path.name for path in source.photos] == ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]
    assert [problem.reason for problem in source.problems] == ["line 6: a broken link"]
    assert count_outside_links(source) == 2


def test_the_root_may_be_a_link(folder: Path) -> None:
    (folder.parent / "alias").symlink_to(folder)
    (folder / "tags.csv").write_text("image,objects\na.jpg,car\n")
    source = list_source(folder.parent / "alias")
    assert source.photos == (folder.parent / "alias/a.jpg",)
    assert count_outside_links(source) == 0


def test_photos_with_invalid_tags_are_indexed(folder: Path) -> None:
    (folder / "tags.csv").write_text("image,objects,attributes\na.jpg,orange;background,\nb.jpg,,orange\n")
    assert [path.name for path in list_source(folder).photos] == ["a.jpg", "b.jpg"]
