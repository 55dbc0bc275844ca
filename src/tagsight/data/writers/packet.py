"""Keywords added to and removed from an XMP packet without changing any other byte of it.

The packet is not written anew: items are inserted and cut out at places found by a parser, so nothing that a photo
manager stored in it can be lost. Inserted text is ASCII with character references, and declares its own namespaces.

For each property with keywords, a property of tagsight records the items that tagsight wrote. Only these are ever
removed.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from tagsight.data.readers.xmp import (
    HIERARCHY,
    RDF,
    SEPARATORS,
    SUBJECT,
    TAGS_LIST,
    Item,
    Packet,
    parse_packet,
    split_levels,
)
from tagsight.data.vocabulary import normalise_tag
from tagsight.data.writers.xmltext import drop_illegal, quote_attribute
from tagsight.errors import InputError
from tagsight.storage.edits import Edit

OWN = "https://tagsight.github.io/tagsight/xmp/1.0/"
RECORDS = {SUBJECT: f"{OWN} subject", HIERARCHY: f"{OWN} hierarchicalSubject", TAGS_LIST: f"{OWN} TagsList"}
"""The properties that record what tagsight wrote, by the property with the keywords."""

_PREFIXES = {
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://ns.adobe.com/lightroom/1.0/": "lr",
    "http://www.digikam.org/ns/1.0/": "digiKam",
    OWN: "tagsight",
}
_REPLACED = {HIERARCHY: ("|", "/"), TAGS_LIST: ("/", "-")}  # separators in a level, and what is written instead
_OTHER_ENCODING = re.compile(rb"""(?:\xef\xbb\xbf)?\s*<\?xml[^>]*\sencoding\s*=\s*["'](?!utf-8["'])""", re.IGNORECASE)
_CLOSING = re.compile(rb"</(?:[^\s<>:/]+:)?(?:Bag|Seq|Alt|RDF)\s*>")
_EMPTY = re.compile(rb"<((?:[^\s<>:/]+:)?(?:Bag|Seq|Alt|RDF))[^<]*/>")  # such as `<rdf:Bag/>`

EMPTY = f"""<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="{RDF}">
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
"""


class Keywords(NamedTuple):
    """Words for dc:subject, and paths for the properties with levels: `("horse",)` or `("horse", "furry")`."""

    flat: tuple[str, ...]
    nested: tuple[tuple[str, ...], ...]


NO_KEYWORDS = Keywords((), ())


def edit_keywords(
    text: str, added: Keywords, *, removed: Iterable[str] = (), create: Sequence[str] = (SUBJECT, HIERARCHY)
) -> tuple[Edit, ...]:
    """The edits of a packet that add the keywords it lacks, and remove words that tagsight wrote.

    Keywords are compared as tags are. They are added to the properties that the packet has, and to those in `create`.
    """
    content = text.encode()
    if _OTHER_ENCODING.match(content):
        raise InputError("it declares another encoding than UTF-8; save it again or remove it")
    packet = parse_packet(content)
    insertions: dict[str, list[str]] = {}
    for name, record in RECORDS.items():
        if name in packet.properties or name in create:
            insertions[name] = _choose_items(packet, name, added)
            recorded = {item.text for item in _list_items(packet, record)}
            insertions[record] = [item for item in insertions[name] if item not in recorded]
    edits = [
        *_cut_items(content, packet, tuple(removed)),
        *_insert_items(content, packet, {name: items for name, items in insertions.items() if items}),
    ]
    return tuple(
        Edit(len(content[: edit.start].decode()), len(content[: edit.end].decode()), edit.text) for edit in edits
    )


def _list_items(packet: Packet, name: str) -> list[Item]:
    return packet.properties[name].items if name in packet.properties else []


def _format_level(name: str, word: str) -> str:
    """The word as a level of a path, without characters that XML does not allow and without the separator."""
    return drop_illegal(word).replace(*_REPLACED.get(name, ("", "")))


def _normalise_levels(name: str, text: str) -> tuple[str, ...]:
    return tuple(normalise_tag(level) for level in split_levels(name, text))


def _choose_items(packet: Packet, name: str, added: Keywords) -> list[str]:
    """The items that a property lacks; a path with the levels of an item, in its order, is not lacking."""
    present = [_normalise_levels(name, item.text) for item in _list_items(packet, name)]
    chosen: dict[tuple[str, ...], str] = {}
    for path in ((word,) for word in added.flat) if name == SUBJECT else added.nested:
        levels = [_format_level(name, word) for word in path]
        tags = tuple(normalise_tag(level) for level in levels)
        if all(tags) and not any(_contains(item, tags) for item in present):
            chosen.setdefault(tags, (SEPARATORS[name] or "").join(levels))
    return list(chosen.values())


def _contains(levels: tuple[str, ...], path: tuple[str, ...]) -> bool:
    return any(levels[n : n + len(path)] == path for n in range(len(levels) - len(path) + 1))


def _cut_items(content: bytes, packet: Packet, words: Sequence[str]) -> list[Edit]:
    """The edits that remove recorded items with one of the words, and their records, as byte offsets."""
    cuts: list[Edit] = []
    for name, record in RECORDS.items():
        unwanted = {normalise_tag(_format_level(name, word)) for word in words}
        records = [one for one in _list_items(packet, record) if unwanted & set(_normalise_levels(name, one.text))]
        ours = {one.text for one in records}
        for item in _list_items(packet, name):
            if item.plain and item.text in ours:
                ours.remove(item.text)
                cuts.append(_cut_item(content, item))
        cuts += [_cut_item(content, item) for item in records]
    return cuts


def _cut_item(content: bytes, item: Item) -> Edit:
    return Edit(item.start, content.index(b">", item.close) + 1, "")


def _insert_items(content: bytes, packet: Packet, items: dict[str, list[str]]) -> list[Edit]:
    """The edits that add items to the lists of their properties, as byte offsets; missing properties are added."""
    edits: list[Edit] = []
    absent = ""
    prefixes = {"rdf": RDF}
    for name, words in items.items():
        space, local = name.split(" ")
        shown = f"{_PREFIXES[space]}:{local}"
        xml = "".join(f"<rdf:li xmlns:rdf={quote_attribute(RDF)}>{_escape(word)}</rdf:li>" for word in words)
        if name in packet.properties:
            edits.append(_insert_before_end(content, packet.properties[name].end, xml, shown))
        else:
            prefixes[_PREFIXES[space]] = space
            absent += f"<{shown}><rdf:Bag>{xml}</rdf:Bag></{shown}>"
    if absent:
        spaces = " ".join(f"xmlns:{prefix}={quote_attribute(space)}" for prefix, space in prefixes.items())
        xml = f"<rdf:Description {spaces} rdf:about={_quote(packet.about)}>{absent}</rdf:Description>"
        edits.append(_insert_before_end(content, packet.end, xml, "rdf:RDF"))
    return edits


def _insert_before_end(content: bytes, end: int | None, xml: str, name: str) -> Edit:
    """The edit that inserts XML before the closing tag at `end`, or into an empty element that ends there."""
    if end is not None and _CLOSING.match(content, end):
        return Edit(end, end, xml)
    empty = None if end is None else _EMPTY.fullmatch(content, content.rfind(b"<", 0, end), end)
    if end is None or empty is None:
        raise InputError(f"it has no {name} that keywords can be added to; save it again or remove it")
    return Edit(end - len(b"/>"), end, f">{xml}</{empty[1].decode()}>")


def _escape(word: str) -> str:
    escaped = escape(word, {"\r": "&#13;"})  # unescaped, it would be read as a line feed
    return escaped.encode("ascii", "xmlcharrefreplace").decode()


def _quote(value: str) -> str:
    return quote_attribute(value).encode("ascii", "xmlcharrefreplace").decode()
