"""Keywords added to an XMP packet without changing any other byte of it.

The packet is not written anew: keywords are inserted at positions found by a parser, so nothing that a photo manager
stored in it can be lost. Inserted text is ASCII with character references, and declares its own namespaces.
"""

import re
from typing import NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape

from tagsight.data.readers.xmp import find_keywords
from tagsight.errors import InputError
from tagsight.export.xmltext import drop_illegal, quote_attribute

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DC = "http://purl.org/dc/elements/1.1/"
LR = "http://ns.adobe.com/lightroom/1.0/"
PROPERTIES = {f"{DC} subject": "dc:subject", f"{LR} hierarchicalSubject": "lr:hierarchicalSubject"}
CONTAINERS = (f"{RDF} Bag", f"{RDF} Seq", f"{RDF} Alt")
WITHIN = [f"{RDF} RDF", f"{RDF} Description"]  # elements around a property of the photo itself

PADDING = b"\0 \t\r\n"  # around a packet, not part of it
EMPTY = f"""<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="{RDF}">
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
""".encode()


class Keywords(NamedTuple):
    """Words in the two forms that photo managers read."""

    flat: tuple[str, ...]
    nested: tuple[str, ...]


def add_keywords(packet: bytes, keywords: Keywords) -> bytes:
    """The packet with the keywords added that it lacks."""
    find_keywords(packet)  # raises InputError if it is too long, not XML, or has a DOCTYPE
    try:
        packet.decode()
    except UnicodeDecodeError as problem:
        raise InputError("it is not in UTF-8; save it again or remove it") from problem
    layout = _map_packet(packet)
    insertions: list[tuple[int, str]] = []
    absent = ""
    for name, words in zip(PROPERTIES.values(), keywords, strict=True):
        present = layout.words.get(name, set())
        new = [word for word in dict.fromkeys(map(drop_illegal, words)) if word not in present]
        items = "".join(f"<rdf:li xmlns:rdf={quote_attribute(RDF)}>{_escape(word)}</rdf:li>" for word in new)
        if items and name in layout.words:
            insertions.append((_require(packet, layout.ends.get(name), name), items))
        elif items:
            absent += f"<{name}><rdf:Bag>{items}</rdf:Bag></{name}>"
    if absent:
        spaces = f'xmlns:rdf="{RDF}" xmlns:dc="{DC}" xmlns:lr="{LR}"'
        description = f"<rdf:Description {spaces} rdf:about={quote_attribute(layout.about)}>{absent}</rdf:Description>"
        insertions.append((_require(packet, layout.ends.get("rdf:RDF"), "rdf:RDF"), description))
    for place, text in sorted(insertions, reverse=True):
        packet = packet[:place] + text.encode("ascii", "xmlcharrefreplace") + packet[place:]
    return packet


def _escape(word: str) -> str:
    return escape(word, {"\r": "&#13;"})  # unescaped, it would be read as a line feed


class _Map(NamedTuple):
    words: dict[str, set[str]]  # of the properties in the packet
    ends: dict[str, int]  # positions of the closing tags of their lists and of rdf:RDF
    about: str


def _map_packet(packet: bytes) -> _Map:
    words: dict[str, set[str]] = {}
    ends: dict[str, int] = {}
    about: list[str] = []
    stack: list[str] = []
    text: list[str] = []

    padding = len(packet) - len(packet.lstrip(PADDING))

    def property_at(depth: int) -> str | None:
        inside = len(stack) >= depth + 1 and stack[-depth - 3 : -depth - 1] == WITHIN
        return PROPERTIES.get(stack[-depth - 1]) if inside else None

    def open_(name: str, attributes: dict[str, str]) -> None:
        stack.append(name)
        text.clear()
        if stack[-2:] == WITHIN:
            about.append(attributes.get(f"{RDF} about", attributes.get("about", "")))
        if found := property_at(0):
            words.setdefault(found, set())

    def close(name: str) -> None:
        if name == f"{RDF} li" and (found := property_at(2)):
            words[found].add("".join(text))
        elif name in CONTAINERS and (found := property_at(1)):
            ends[found] = padding + parser.CurrentByteIndex
        elif name == WITHIN[0]:
            ends["rdf:RDF"] = padding + parser.CurrentByteIndex
        stack.pop()

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = open_
    parser.EndElementHandler = close
    parser.CharacterDataHandler = text.append
    parser.Parse(packet.strip(PADDING), True)
    return _Map(words, ends, about[0] if about else "")


def _require(packet: bytes, place: int | None, name: str) -> int:
    """The position of a closing tag of a list or of rdf:RDF; InputError without one, as in `<rdf:Bag/>`."""
    if place is None or not re.match(rb"</([^\s<>:/]+:)?(Bag|Seq|Alt|RDF)\s*>", packet[place : place + 200]):
        raise InputError(f"it has no {name} with a closing tag, to add keywords to; save it again or remove it")
    return place
