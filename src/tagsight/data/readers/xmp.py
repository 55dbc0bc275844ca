"""The keywords of an XMP packet, parsed safely: a packet may come from anyone.

Expat is used directly and document types are refused. Without them there are no entities, the only part of XML that
reads other files or expands without limit.
"""

from xml.parsers import expat

from tagsight.errors import InputError

LIMIT = 16 << 20
"""Largest packet, in bytes; usual ones are a thousand times smaller."""

_ITEM = "http://www.w3.org/1999/02/22-rdf-syntax-ns# li"
_SUBJECT = "http://purl.org/dc/elements/1.1/ subject"
_HIERARCHY = "http://ns.adobe.com/lightroom/1.0/ hierarchicalSubject"


_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class _Finder:
    """Collects the text of every rdf:li inside the two properties that hold keywords."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._property = ""
        self._text: list[str] | None = None

    def open(self, name: str, attributes: dict[str, str]) -> None:
        if name in (_SUBJECT, _HIERARCHY):
            self._property = name
        elif name == _ITEM and self._property:
            self._text = []

    def read(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def close(self, name: str) -> None:
        if name == self._property:
            self._property = ""
        elif name == _ITEM and self._text is not None:
            word = "".join(self._text)
            self.words += word.split("|") if self._property == _HIERARCHY else [word]
            self._text = None


def find_keywords(packet: bytes) -> list[str]:
    """The keywords of dc:subject and lr:hierarchicalSubject."""
    if len(packet) > LIMIT:
        raise InputError(f"XMP is over the limit of {LIMIT} bytes")
    finder = _Finder()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = finder.open
    parser.CharacterDataHandler = finder.read
    parser.EndElementHandler = finder.close
    if not packet.startswith(_UTF16_MARKS):
        packet = packet.strip(b"\0 \t\r\n")
    try:
        parser.Parse(packet, True)
    except expat.ExpatError as error:
        raise InputError(f"XMP is not valid XML: {error}") from error
    return finder.words


def _refuse_doctype(name: str, system: str | None, public: str | None, internal: bool) -> None:
    raise InputError("XMP with a DOCTYPE is refused: it could read other files or expand without limit")
