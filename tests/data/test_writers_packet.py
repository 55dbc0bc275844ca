"""Keywords in XMP packets: every other byte is kept, and only recorded words are removed."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.packets import (
    DIGIKAM,
    LIGHTROOM,
    LIST,
    NESTED,
    OTHER_PREFIXES,
    RDF,
    SUBJECT,
    TAGS_LIST,
    add_keywords,
    list_items,
    take_out,
)

from tagsight.data.readers.xmp import LIMIT, find_keywords
from tagsight.data.vocabulary import normalise_tag
from tagsight.data.writers.packet import EMPTY, NO_KEYWORDS, OWN, Keywords, edit_keywords
from tagsight.errors import InputError
from tagsight.storage.edits import apply_edits

WORDS = Keywords(("horse", "furry"), (("horse",), ("horse", "furry")))
FLAT = Keywords(("cat",), (("cat",),))
PACKETS = [EMPTY.encode(), LIGHTROOM, OTHER_PREFIXES, DIGIKAM]


@pytest.mark.parametrize("packet", [LIGHTROOM, OTHER_PREFIXES, b"\0 \r\n" + LIGHTROOM[3:] + b"\0"])
def test_a_sidecar_keeps_all_it_had(packet: bytes) -> None:
    merged = add_keywords(packet, WORDS)
    assert list_items(merged, SUBJECT) == ["holiday", "horse", "furry"]
    assert list_items(merged, NESTED) == ["horse", "horse|furry"]
    assert take_out(merged) == packet
    root = ElementTree.fromstring(merged.strip(b"\0 \r\n"))
    assert {one.get(f"{RDF}about") for one in root.findall(f"{RDF}RDF/{RDF}Description")} == {"uuid:1"}


@pytest.mark.parametrize("packet", PACKETS)
def test_adding_twice_is_adding_once(packet: bytes) -> None:
    once = add_keywords(packet, WORDS)
    assert once != packet
    assert add_keywords(once, WORDS) == once


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4), st.sampled_from(PACKETS))
@example(["\r"], ["a\rb"], LIGHTROOM)
@example([], ["a/b", "c|d"], DIGIKAM)
def test_any_words_are_well_formed(flat: list[str], nested: list[str], packet: bytes) -> None:
    merged = add_keywords(packet, Keywords(tuple(flat), tuple((word,) for word in nested)))
    assert take_out(merged) == packet
    legal = (re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", word) for word in nested)
    wanted = {normalise_tag(word.replace("|", "/")) for word in legal} - {""}
    assert {normalise_tag(word or "") for word in list_items(merged, NESTED)} == wanted


@pytest.mark.parametrize("packet", PACKETS)
def test_added_words_are_removed_and_nothing_else(packet: bytes) -> None:
    added = add_keywords(packet, Keywords(("cat", "<&> \u00e9"), (("cat",), ("dog", "<&> \u00e9"))))
    removed = add_keywords(added, NO_KEYWORDS, removed=["Cat", "<&> \u00c9"])
    assert find_keywords(removed) == find_keywords(packet)
    assert take_out(removed) == packet
    for name in (SUBJECT, NESTED, TAGS_LIST, f"{{{OWN}}}subject", f"{{{OWN}}}TagsList"):
        assert list_items(removed, name) == (list_items(packet, name))


@given(st.data())
def test_any_sequence_of_changes_keeps_the_bytes_of_others(data: st.DataObject) -> None:
    packet = original = data.draw(st.sampled_from(PACKETS))
    theirs = set(find_keywords(original))
    ours: set[str] = set()
    for _ in range(data.draw(st.integers(1, 5))):
        word, present = data.draw(st.tuples(st.sampled_from(["horse", "cat", "holiday", "a/b|c"]), st.booleans()))
        packet = add_keywords(
            packet, Keywords((word,), ((word,),)) if present else NO_KEYWORDS, removed=[word] * (not present)
        )
        ours = ours | {word} if present else ours - {word}
        assert take_out(packet) == original
        assert theirs <= set(find_keywords(packet))
        assert set(list_items(packet, SUBJECT)) == set(list_items(original, SUBJECT)) | ours


@pytest.mark.parametrize("packet", PACKETS[1:])
def test_words_of_others_are_never_removed(packet: bytes) -> None:
    assert add_keywords(packet, NO_KEYWORDS, removed=["holiday", "horse", "caf\u00e9", "animal", "other"]) == packet


def test_what_tagsight_wrote_is_found_after_a_photo_manager_wrote_the_packet_anew() -> None:
    root = ElementTree.fromstring(add_keywords(LIGHTROOM, FLAT).strip(b"\0 \r\n"))
    ElementTree.indent(root)
    anew = ElementTree.tostring(root)  # other prefixes, white space and quotes
    assert b"ns0:" in anew
    removed = add_keywords(anew, NO_KEYWORDS, removed=["cat"])
    assert list_items(removed, SUBJECT) == ["holiday", "horse"]
    assert list_items(removed, NESTED) == []


def test_a_word_that_a_photo_manager_removed_is_added_and_recorded_once() -> None:
    added = add_keywords(LIGHTROOM, FLAT)
    item = re.compile(rb"<rdf:li xmlns:rdf=[^>]*>cat</rdf:li>")
    without = added.replace(item.findall(added)[0], b"", 1)
    assert list_items(without, SUBJECT) == ["holiday", "horse"]
    again = add_keywords(without, FLAT)
    assert list_items(again, SUBJECT) == ["holiday", "horse", "cat"]
    assert list_items(again, f"{{{OWN}}}subject") == ["cat"]


def test_a_level_of_a_path_counts_as_the_word() -> None:
    merged = add_keywords(DIGIKAM, Keywords((), (("horse",), ("ANIMAL",), ("animal", "cat"))))
    assert list_items(merged, TAGS_LIST) == ["animal/horse", "animal/cat"]
    assert list_items(merged, NESTED) == ["horse", "ANIMAL", "animal|cat"]


def test_paths_are_added_to_existing_properties_only_unless_they_are_created() -> None:
    text = LIGHTROOM.decode()
    merged = apply_edits(text, edit_keywords(text, FLAT, create=())).encode()
    assert list_items(merged, SUBJECT) == ["holiday", "horse", "cat"]
    assert list_items(merged, NESTED) == list_items(merged, TAGS_LIST) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (LIST, b"<rdf:Bag/>"),
        (LIST, b"<rdf:Seq ></rdf:Seq >"),
        (LIST, b'<rdf:Bag rdf:ID="a>b" \n/>'),
    ],
)
def test_an_empty_list_is_filled(old: bytes, new: bytes) -> None:
    packet = LIGHTROOM.replace(old, new)
    merged = add_keywords(packet, FLAT)
    assert list_items(merged, SUBJECT) == ["cat"]
    assert find_keywords(merged).count("cat") == 2
    rest = take_out(merged).replace(b"></rdf:Bag>", b"/>") if b"/>" in new else take_out(merged)
    assert rest.replace(b"</rdf:li/>", b"</rdf:li></rdf:Bag>") == packet


def test_an_empty_packet_is_filled() -> None:
    merged = add_keywords(EMPTY.replace(">\n </rdf:RDF>", "/>").encode(), FLAT)
    assert list_items(merged, SUBJECT) == ["cat"]


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (b"not XML", "not valid XML"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "DOCTYPE"),
        (b"<a/>", "no rdf:RDF"),
        (b"<?xml version='1.0' encoding='ISO-8859-1'?>" + LIGHTROOM[3:], "another encoding"),
        (EMPTY.encode() + b" " * LIMIT, "over the limit"),
        (LIGHTROOM.replace(LIST, b""), "no dc:subject"),
        (LIGHTROOM.replace(b"<dc:subject>" + LIST + b"</dc:subject>", b"<dc:subject/>"), "no dc:subject"),
        (
            LIGHTROOM.replace(b"<dc:subject>" + LIST + b"</dc:subject>", b"").replace(
                b"crs:Exp", b'dc:subject="x" crs:Exp'
            ),
            "no dc:subject",
        ),
    ],
)
def test_what_cannot_be_merged_is_refused(packet: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        add_keywords(packet, WORDS)


def test_a_word_in_an_attribute_is_read() -> None:
    short = LIGHTROOM.replace(b"<dc:subject>" + LIST + b"</dc:subject>", b"").replace(
        b"crs:Exp", b'dc:subject="x" crs:Exp'
    )
    assert find_keywords(short) == ["x"]
