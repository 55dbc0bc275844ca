"""Text for XML: whatever the tag, the file stays well-formed."""

import re
from xml.sax.saxutils import quoteattr

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def drop_illegal(text: str) -> str:
    """Without the characters that XML 1.0 cannot hold, even escaped."""
    return _ILLEGAL.sub("", text)


def quote_attribute(text: str) -> str:
    """For the value of an attribute, quotes included."""
    return quoteattr(drop_illegal(text))
