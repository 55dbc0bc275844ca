"""Sidecars: well-formed, merged without loss, read by an XML parser and by exiv2 if it is installed."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tagsight.data.collection import Problem
from tagsight.data.readers.xmp import find_keywords
from tagsight.data.vocabulary import Vocabulary
from tagsight.data.writers.packet import EMPTY, NO_KEYWORDS, Keywords
from tagsight.export import FORMATS, write_export, xmp
from tagsight.export.output import Format, Target
from tagsight.export.record import ExportedPhoto
from tagsight.storage.edits import FileChange
from tests.packets import DIGIKAM, LIGHTROOM, NESTED, SUBJECT, TAGS_LIST, add_keywords, list_items, take_out

from .made import RING, TARGET, VOCABULARY, make_files, make_photo


def test_a_new_sidecar_has_flat_and_nested_keywords() -> None:
    (packet,) = make_files(xmp.write, make_photo(RING)).values()
    assert list_items(packet, SUBJECT) == ["horse", "furry", "shiny"]
    assert list_items(packet, NESTED) == ["horse", "horse|furry", "horse|shiny"]
    assert find_keywords(packet) == ["horse", "furry", "shiny", "horse", "horse", "furry", "horse", "shiny"]


def test_a_refused_sidecar_is_a_problem_and_the_next_photo_comes(tmp_path: Path) -> None:
    (tmp_path / "a.jpg.xmp").write_text("not XML")
    (tmp_path / "b.jpg.xmp").write_bytes(LIGHTROOM)
    (tmp_path / "c.jpg.xmp").symlink_to("b.jpg.xmp")
    photos = [make_photo(RING, name) for name in ("a.jpg", "b.jpg", "c.jpg")]
    first, second, third = xmp.write(photos, Target(VOCABULARY, tmp_path))
    assert isinstance(first, Problem)
    assert "a.jpg.xmp' is not changed: XMP is not valid XML" in first.reason
    assert isinstance(second, FileChange)
    assert take_out(second.after) == LIGHTROOM
    assert isinstance(third, Problem)
    assert "a link" in third.reason


def test_a_sidecar_that_another_program_changes_meanwhile_is_kept(tmp_path: Path) -> None:
    target = Target(VOCABULARY, tmp_path)
    sidecar = tmp_path / "a.jpg.xmp"
    sidecar.write_bytes(LIGHTROOM)

    def write(photos: Iterable[ExportedPhoto], target: Target) -> Iterator[FileChange | Problem]:
        for made in xmp.write(photos, target):
            sidecar.write_bytes(LIGHTROOM + b" ")
            yield made

    (problem,) = write_export([make_photo(RING)], Format(write), target)
    assert "was changed by another program" in problem.reason
    assert sidecar.read_bytes() == LIGHTROOM + b" "
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jpg.xmp"]


def test_exporting_twice_changes_a_sidecar_once(tmp_path: Path) -> None:
    target = Target(VOCABULARY, tmp_path)
    sidecar = tmp_path / "a.jpg.xmp"
    sidecar.write_bytes(LIGHTROOM)
    for _ in range(2):
        assert list(write_export([make_photo(RING)], FORMATS["xmp"], target)) == []
        assert take_out(sidecar.read_bytes()) == LIGHTROOM
    assert list_items(sidecar.read_bytes(), SUBJECT) == ["holiday", "horse", "furry", "shiny"]


def test_the_list_of_digikam_is_extended_where_it_exists(tmp_path: Path) -> None:
    (tmp_path / "a.jpg.xmp").write_bytes(DIGIKAM)
    (packet,) = make_files(xmp.write, make_photo(RING), target=Target(VOCABULARY, tmp_path)).values()
    assert list_items(packet, TAGS_LIST) == ["animal/horse", "horse/furry", "horse/shiny"]
    assert take_out(packet) == DIGIKAM


def test_a_bar_in_a_word_does_not_make_a_level() -> None:
    odd = Vocabulary(("a|b",), ("c|d",))
    photo = make_photo(RING, vocabulary=odd)
    (packet,) = make_files(xmp.write, photo, target=Target(odd, TARGET.folder)).values()
    assert list_items(packet, NESTED) == ["a/b", "a/b|c/d"]
    assert list_items(packet, SUBJECT) == ["a|b", "c|d"]


@pytest.mark.interop
@pytest.mark.parametrize("packet", [EMPTY.encode(), LIGHTROOM], ids=["new", "merged"])
def test_exiv2_reads_it(packet: bytes, tmp_path: Path) -> None:
    pyexiv2 = import_module("pyexiv2")
    (tmp_path / "a.xmp").write_bytes(add_keywords(packet, Keywords(("<é> & 🙂",), (("horse", "furry"),))))
    with pyexiv2.Image(str(tmp_path / "a.xmp")) as opened:
        found = opened.read_xmp()
    assert "<é> & 🙂" in found["Xmp.dc.subject"]
    assert "horse|furry" in found["Xmp.lr.hierarchicalSubject"]
    if packet is LIGHTROOM:
        assert "holiday" in found["Xmp.dc.subject"]
        assert found["Xmp.crs.Exposure2012"] == "+0.35"


@pytest.mark.interop
@pytest.mark.parametrize("packet", [EMPTY.encode(), LIGHTROOM, DIGIKAM], ids=["new", "lightroom", "digikam"])
def test_what_tagsight_wrote_is_removed_after_exiv2_wrote_the_sidecar_anew(packet: bytes, tmp_path: Path) -> None:
    pyexiv2 = import_module("pyexiv2")
    path = tmp_path / "a.xmp"
    path.write_bytes(add_keywords(packet, Keywords(("cat",), (("cat",),))))
    with pyexiv2.Image(str(path)) as opened:
        words = opened.read_xmp()["Xmp.dc.subject"]
        opened.modify_xmp({"Xmp.xmp.Rating": "5", "Xmp.dc.subject": [*words, "dog"]})
    before = path.read_bytes()
    removed = add_keywords(before, NO_KEYWORDS, removed=["cat", "dog"])
    path.write_bytes(removed)
    with pyexiv2.Image(str(path)) as opened:
        found = opened.read_xmp()
    assert found["Xmp.dc.subject"] == [word for word in [*words, "dog"] if word != "cat"]
    assert found["Xmp.xmp.Rating"] == "5"
    assert "cat" not in str(found)
    if packet is DIGIKAM:
        assert found["Xmp.digiKam.TagsList"] == ["animal/horse"]
