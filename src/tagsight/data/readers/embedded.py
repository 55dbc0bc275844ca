"""The keywords in a photo file: those of its XMP packet and of its IPTC record."""

import warnings
from collections.abc import Mapping
from pathlib import Path

from PIL import Image, IptcImagePlugin
from PIL.TiffImagePlugin import TiffImageFile

from tagsight.data.formats import DECODER_ERRORS, FORMATS, find_remedy
from tagsight.data.readers.xmp import find_keywords
from tagsight.errors import InputError

_KEYWORDS = (2, 25)
_CHARSET = (1, 90)
_UTF8 = b"\x1b%G"
_TIFF_XMP = 700


def read_embedded(photo: Path) -> list[str]:
    """The keywords of one photo; only its header is read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(photo, formats=FORMATS) as image:
                packet = _find_packet(image)
                iptc = IptcImagePlugin.getiptcinfo(image) or {}
    except Image.UnidentifiedImageError as error:
        raise InputError(find_remedy(photo) or f"not a file of a known format ({', '.join(FORMATS)})") from error
    except (*DECODER_ERRORS, Image.DecompressionBombError) as error:
        raise InputError(f"its keywords cannot be read: {error}") from error
    return (find_keywords(packet) if packet else []) + decode_iptc(iptc)


def decode_iptc(record: Mapping[tuple[int, int], bytes | list[bytes]]) -> list[str]:
    """The keywords (dataset 2:25) of an IPTC record, decoded by its character set (1:90).

    Most programs write UTF-8, and many do not declare it: undeclared bytes are read as UTF-8 if they are valid UTF-8,
    and as Latin-1 otherwise.
    """
    values = record.get(_KEYWORDS, [])
    keywords = [values] if isinstance(values, bytes) else values
    if record.get(_CHARSET) == _UTF8:
        return [keyword.decode("utf-8", "replace") for keyword in keywords]
    return [_decode_undeclared(keyword) for keyword in keywords]


def _decode_undeclared(keyword: bytes) -> str:
    try:
        return keyword.decode("utf-8")
    except UnicodeDecodeError:
        return keyword.decode("latin-1")


def _find_packet(image: Image.Image) -> bytes:
    packet = image.info.get("xmp") or image.info.get("XML:com.adobe.xmp") or b""
    if not packet and isinstance(image, TiffImageFile):
        packet = image.tag_v2.get(_TIFF_XMP, b"")
    return packet.encode("utf-8") if isinstance(packet, str) else bytes(packet)
