"""Text for XML that keeps files well-formed for every tag."""

import re
from xml.sax.saxutils import quoteattr

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def drop_illegal(text: str) -> str:
    """The text without characters that XML 1.0 does not allow, even escaped."""
    return _ILLEGAL.sub("", text)


def quote_attribute(text: str) -> str:
    """The quoted value of an XML attribute."""
    return quoteattr(drop_illegal(text))
