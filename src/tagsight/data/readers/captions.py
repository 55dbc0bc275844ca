"""Colour attributes from captions (Pascal sentences: about five per photo).

A photo has a colour if at least one of its captions has the word of that colour; "gray" counts as "grey". "Black and
white" is removed first, since it nearly always describes the photograph. One caption is enough because annotators
seldom repeat each other. A colour is a tag of the photo, so it may be the colour of the background. The ten colours are
the basic colour terms that the captions use most; the eleventh, purple, is in the captions of 14 of 1,000 photos.
"""

import re
from pathlib import Path
from typing import Any

from tagsight.data.jsonvalues import is_object, is_words
from tagsight.data.textfiles import read_json
from tagsight.errors import InputError

COLOURS = ("black", "blue", "brown", "green", "grey", "orange", "pink", "red", "white", "yellow")

_WORDS = {colour: colour for colour in COLOURS} | {"gray": "grey"}
_MONOCHROME = re.compile(r"\bblack[\s-]+(?:and|&)[\s-]+white\b")


def read_colours(path: Path) -> dict[str, tuple[str, ...]]:
    """The colours of every photo that has captions."""
    content: Any = read_json(path)
    if not is_object(content):
        raise InputError(f"{str(path)!r} must hold an object from photo to captions")
    colours: dict[str, tuple[str, ...]] = {}
    for photo, entry in content.items():
        captions = entry.get("captions") if is_object(entry) else None
        if not is_words(captions):
            raise InputError(f"{str(path)!r}: {photo!r} has no list of captions")
        colours[photo] = find_colours(captions)
    return colours


def find_colours(captions: list[str]) -> tuple[str, ...]:
    """The colours that captions name, in the order of `COLOURS`."""
    words = {word for caption in captions for word in re.findall(r"[a-z]+", _MONOCHROME.sub(" ", caption.lower()))}
    named = {_WORDS[word] for word in words & _WORDS.keys()}
    return tuple(colour for colour in COLOURS if colour in named)
