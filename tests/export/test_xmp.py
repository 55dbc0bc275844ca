"""Sidecars: well-formed, merged without loss, read by an XML parser and by exiv2 if it is installed."""

import re
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tagsight.data.collection import Problem
from tagsight.data.readers.xmp import find_keywords
from tagsight.data.vocabulary import Vocabulary
from tagsight.errors import InputError
from tagsight.export import xmp
from tagsight.export.output import OutputFile, Target
from tagsight.export.sidecar import EMPTY, Keywords, add_keywords

from .made import RING, TARGET, VOCABULARY, make_files, make_photo

RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
SUBJECT = "{http://purl.org/dc/elements/1.1/}subject"
NESTED = "{http://ns.adobe.com/lightroom/1.0/}hierarchicalSubject"
WORDS = Keywords(("horse", "furry"), ("horse", "horse|furry"))

LIST = b"<rdf:Bag><rdf:li>holiday</rdf:li><rdf:li>horse</rdf:li></rdf:Bag>"
LIGHTROOM = b"""\xef\xbb\xbf<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Adobe XMP Core 7.0">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="uuid:1" xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/"
    xmlns:dc="http://purl.org/dc/elements/1.1/" crs:Exposure2012="+0.35" crs:Note="two&#10;lines &quot;x&quot;">
   <!-- a comment --> <dc:subject><rdf:Bag><rdf:li>holiday</rdf:li><rdf:li>horse</rdf:li></rdf:Bag></dc:subject>
   <crs:Look><rdf:Description><dc:subject><rdf:Bag><rdf:li>other</rdf:li></rdf:Bag></dc:subject></rdf:Description></crs:Look>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>     \n  """
OTHER_PREFIXES = (
    LIGHTROOM.replace(b"rdf", b"r").replace(b"22-r-", b"22-rdf-").replace(b"dc:", b"d:").replace(b":dc", b":d")
)


def list_items(packet: bytes, name: str) -> list[str | None]:
    root = ElementTree.fromstring(packet.strip(b"\0 \r\n\t"))
    return [
        item.text
        for described in root.findall(f"{RDF}RDF/{RDF}Description")
        for item in described.findall(f"{name}/{RDF}Bag/{RDF}li")
    ]


def take_out(packet: bytes) -> bytes:
    """The packet without the inserted elements, which declare their own namespaces."""
    without = re.sub(rb"<rdf:Description xmlns:rdf=[^>]*>.*?</rdf:Description>", b"", packet, flags=re.DOTALL)
    return re.sub(rb"<rdf:li xmlns:rdf=[^>]*>.*?</rdf:li>", b"", without, flags=re.DOTALL)


def test_a_new_sidecar_has_flat_and_nested_keywords() -> None:
    (packet,) = make_files(xmp.write, make_photo(RING)).values()
    assert list_items(packet, SUBJECT) == ["horse", "furry", "shiny"]
    assert list_items(packet, NESTED) == ["horse", "horse|furry", "horse|shiny"]
    assert find_keywords(packet) == ["horse", "furry", "shiny", "horse", "horse", "furry", "horse", "shiny"]


@pytest.mark.parametrize("packet", [LIGHTROOM, OTHER_PREFIXES, b"\0 \r\n" + LIGHTROOM[3:] + b"\0"])
def test_a_sidecar_keeps_all_it_had(packet: bytes) -> None:
    merged = add_keywords(packet, WORDS)
    assert list_items(merged, SUBJECT) == ["holiday", "horse", "furry"]
    assert list_items(merged, NESTED) == ["horse", "horse|furry"]
    assert take_out(merged) == packet
    root = ElementTree.fromstring(merged.strip(b"\0 \r\n"))
    assert {one.get(f"{RDF}about") for one in root.findall(f"{RDF}RDF/{RDF}Description")} == {"uuid:1"}


@pytest.mark.parametrize("packet", [EMPTY, LIGHTROOM])
def test_adding_twice_is_adding_once(packet: bytes) -> None:
    once = add_keywords(packet, WORDS)
    assert once != packet
    assert add_keywords(once, WORDS) == once


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
@example(["\r"], ["a\rb"])
def test_any_words_are_well_formed(flat: list[str], nested: list[str]) -> None:
    merged = add_keywords(LIGHTROOM, Keywords(tuple(flat), tuple(nested)))
    assert take_out(merged) == LIGHTROOM
    legal = {re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", word) for word in nested}
    assert {word or "" for word in list_items(merged, NESTED)} == legal


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (b"not XML", "not valid XML"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "DOCTYPE"),
        (b"<a/>", "no rdf:RDF"),
        (EMPTY.replace(b">\n </rdf:RDF>", b"/>"), "no rdf:RDF"),
        (EMPTY.decode().encode("utf-16"), "UTF-8"),
        (LIGHTROOM.replace(LIST, b"<rdf:Bag/>"), "no dc:subject"),
        (LIGHTROOM.replace(LIST, b""), "no dc:subject"),
    ],
)
def test_what_cannot_be_merged_is_refused(packet: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        add_keywords(packet, WORDS)


def test_a_refused_sidecar_is_a_problem_and_the_next_photo_comes(tmp_path: Path) -> None:
    (tmp_path / "a.jpg.xmp").write_text("not XML")
    (tmp_path / "b.jpg.xmp").write_bytes(LIGHTROOM)
    (tmp_path / "c.jpg.xmp").symlink_to("b.jpg.xmp")
    photos = [make_photo(RING, name) for name in ("a.jpg", "b.jpg", "c.jpg")]
    first, second, third = xmp.write(photos, Target(VOCABULARY, tmp_path))
    assert isinstance(first, Problem)
    assert "a.jpg.xmp' is not changed: XMP is not valid XML" in first.reason
    assert isinstance(second, OutputFile)
    assert take_out(second.content) == LIGHTROOM
    assert isinstance(third, Problem)
    assert "a link" in third.reason


def test_a_bar_in_a_word_does_not_make_a_level() -> None:
    odd = Vocabulary(("a|b",), ("c|d",))
    photo = make_photo(RING, vocabulary=odd)
    (packet,) = make_files(xmp.write, photo, target=Target(odd, TARGET.folder)).values()
    assert list_items(packet, NESTED) == ["a/b", "a/b|c/d"]
    assert list_items(packet, SUBJECT) == ["a|b", "c|d"]


@pytest.mark.interop
@pytest.mark.parametrize("packet", [EMPTY, LIGHTROOM], ids=["new", "merged"])
def test_exiv2_reads_it(packet: bytes, tmp_path: Path) -> None:
    pyexiv2 = import_module("pyexiv2")
    (tmp_path / "a.xmp").write_bytes(add_keywords(packet, Keywords(("<é> & 🙂",), ("horse|furry",))))
    with pyexiv2.Image(str(tmp_path / "a.xmp")) as opened:
        found = opened.read_xmp()
    assert "<é> & 🙂" in found["Xmp.dc.subject"]
    assert "horse|furry" in found["Xmp.lr.hierarchicalSubject"]
    if packet is LIGHTROOM:
        assert "holiday" in found["Xmp.dc.subject"]
        assert found["Xmp.crs.Exposure2012"] == "+0.35"
