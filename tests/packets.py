"""XMP packets as photo managers write them, and an independent reader of packets (xml.etree)."""

import re
from collections.abc import Iterable
from xml.etree import ElementTree

from tagsight.data.writers.packet import Keywords, edit_keywords
from tagsight.storage.edits import apply_edits

RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
SUBJECT = "{http://purl.org/dc/elements/1.1/}subject"
NESTED = "{http://ns.adobe.com/lightroom/1.0/}hierarchicalSubject"
TAGS_LIST = "{http://www.digikam.org/ns/1.0/}TagsList"

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
DIGIKAM = """<?xml version="1.0" encoding="UTF-8"?>
<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="XMP Core 4.4.0-Exiv2">\r
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="" xmlns:MP="http://ns.microsoft.com/photo/1.2/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"
   xmp:Rating="4"><MP:RegionInfo rdf:parseType="Resource"><MP:Name>Zo\u00eb</MP:Name></MP:RegionInfo></rdf:Description>
  <rdf:Description rdf:about="" xmlns:digiKam="http://www.digikam.org/ns/1.0/">
   <digiKam:TagsList>
    <rdf:Seq>
     <rdf:li>animal/horse</rdf:li>
    </rdf:Seq>
   </digiKam:TagsList>
  </rdf:Description>
  <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">
   <dc:subject><rdf:Bag><rdf:li><![CDATA[caf\u00e9 & bar]]></rdf:li><rdf:li>caf&#xE9;</rdf:li></rdf:Bag></dc:subject>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>""".encode()


def add_keywords(packet: bytes, keywords: Keywords, *, removed: Iterable[str] = ()) -> bytes:
    """The packet with keywords added and others removed."""
    text = packet.decode()
    return apply_edits(text, edit_keywords(text, keywords, removed=removed)).encode()


def list_items(packet: bytes, name: str) -> list[str | None]:
    """The items of a property of the photo, read by another parser."""
    root = ElementTree.fromstring(packet.strip(b"\0 \r\n\t"))
    return [
        item.text
        for described in root.findall(f"{RDF}RDF/{RDF}Description")
        for container in ("Bag", "Seq")
        for item in described.findall(f"{name}/{RDF}{container}/{RDF}li")
    ]


def take_out(packet: bytes) -> bytes:
    """The packet without the inserted elements, which declare their own namespaces."""
    without = re.sub(rb"<rdf:Description xmlns:rdf=[^>]*>.*?</rdf:Description>", b"", packet, flags=re.DOTALL)
    return re.sub(rb"<rdf:li xmlns:rdf=[^>]*>.*?</rdf:li>", b"", without, flags=re.DOTALL)
