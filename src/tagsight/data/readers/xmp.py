"""The keywords of an XMP packet, parsed safely: a packet may come from anyone.

Expat is used directly and document types are refused. Without them there are no entities, the only part of XML that
reads other files or expands without limit.

Photo managers write keywords in three properties: dc:subject has words, lr:hierarchicalSubject paths such as
"animal|horse", and digiKam:TagsList paths such as "animal/horse". Every level of a path is a keyword.
"""

from typing import NamedTuple
from xml.parsers import expat

from tagsight.errors import InputError

LIMIT = 16 << 20
"""Largest packet, in bytes; usual ones are a thousand times smaller."""

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
SUBJECT = "http://purl.org/dc/elements/1.1/ subject"
HIERARCHY = "http://ns.adobe.com/lightroom/1.0/ hierarchicalSubject"
TAGS_LIST = "http://www.digikam.org/ns/1.0/ TagsList"
SEPARATORS = {SUBJECT: None, HIERARCHY: "|", TAGS_LIST: "/"}
"""The properties with keywords, and what separates the levels of their paths."""

_ITEM = f"{RDF} li"
_LISTS = (f"{RDF} Bag", f"{RDF} Seq", f"{RDF} Alt")
_WITHIN = [f"{RDF} RDF", f"{RDF} Description"]  # elements around a property of the photo itself
_PADDING = b"\0 \t\r\n"  # around a packet, not part of it
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Item(NamedTuple):
    """An item of a property: its text, and the bytes from its opening tag to its closing tag (exclusive)."""

    text: str
    start: int
    close: int
    plain: bool = True  # has no elements inside


class Property:
    """The items of a property, and the place of the closing tag of its list.

    The place is the end of the tag of an empty list (`<rdf:Bag/>`), and None if the property has no list.
    """

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.end: int | None = None


class Packet(NamedTuple):
    """The properties of the photo itself by name, those of parts of it (face regions, presets) not included."""

    properties: dict[str, Property]
    about: str  # the value of rdf:about
    end: int | None  # place of the closing tag of rdf:RDF, as in `Property`


class _Parser:
    """Collects the properties of a packet; places are offsets in the whole content."""

    def __init__(self, offset: int) -> None:
        self.properties: dict[str, Property] = {}
        self.about: list[str] = []
        self.end: int | None = None
        self._offset = offset
        self._stack: list[str] = []
        self._text: list[str] = []
        self._item = 0  # start of the current item
        self._plain = True
        self.expat = expat.ParserCreate(namespace_separator=" ")
        self.expat.StartDoctypeDeclHandler = _refuse_doctype
        self.expat.StartElementHandler = self._open
        self.expat.CharacterDataHandler = self._text.append
        self.expat.EndElementHandler = self._close

    @property
    def _place(self) -> int:
        return self._offset + self.expat.CurrentByteIndex

    def _property_above(self, levels: int) -> Property | None:
        """The property whose element is this many levels above the current one."""
        place = len(self._stack) - 1 - levels
        if place < 2 or self._stack[place - 2 : place] != _WITHIN:
            return None
        return self.properties.setdefault(self._stack[place], Property())

    def _open(self, name: str, attributes: dict[str, str]) -> None:
        self._stack.append(name)
        if self._stack[-2:] == _WITHIN:
            self.about.append(attributes.get(f"{RDF} about", attributes.get("about", "")))
            for key, value in attributes.items():
                if key in SEPARATORS:
                    self.properties.setdefault(key, Property()).items.append(Item(value, 0, 0, plain=False))
        elif self._property_above(0) is not None:
            pass
        elif name == _ITEM and self._property_above(2) is not None:
            self._text.clear()
            self._item, self._plain = self._place, True
        else:
            self._plain = False

    def _close(self, name: str) -> None:
        if name == _ITEM and (found := self._property_above(2)) is not None:
            found.items.append(Item("".join(self._text), self._item, self._place, self._plain))
        elif name in _LISTS and (found := self._property_above(1)) is not None:
            found.end = self._place
        elif name == _WITHIN[0]:
            self.end = self._place
        self._stack.pop()


def parse_packet(content: bytes) -> Packet:
    """The properties of a packet; InputError if it is too long, not valid XML, or has a document type."""
    if len(content) > LIMIT:
        raise InputError(f"XMP is over the limit of {LIMIT} bytes")
    if content.startswith(_UTF16_MARKS):
        stripped, offset = content, 0
    else:
        stripped = content.strip(_PADDING)
        offset = len(content) - len(content.lstrip(_PADDING))
    parser = _Parser(offset)
    try:
        parser.expat.Parse(stripped, True)
    except expat.ExpatError as error:
        raise InputError(f"XMP is not valid XML: {error}") from error
    return Packet(parser.properties, parser.about[0] if parser.about else "", parser.end)


def split_levels(name: str, text: str) -> list[str]:
    """The levels of an item of a property, one if the property has no paths."""
    separator = SEPARATORS[name]
    return [text] if separator is None else text.split(separator)


def find_keywords(content: bytes) -> list[str]:
    """The keywords of a packet, in the order of its properties."""
    return list_keywords(parse_packet(content))


def list_keywords(packet: Packet) -> list[str]:
    """The keywords of a parsed packet."""
    return [
        word
        for name, found in packet.properties.items()
        if name in SEPARATORS
        for item in found.items
        for word in split_levels(name, item.text)
    ]


def _refuse_doctype(name: str, system: str | None, public: str | None, internal: bool) -> None:
    raise InputError("XMP with a DOCTYPE is refused: it could read other files or expand without limit")
