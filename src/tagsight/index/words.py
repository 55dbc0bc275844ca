"""The words an index knows, however they are inflected, and the nearest ones to a word it does not know."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from tagsight.data.vocabulary import normalise_tag
from tagsight.errors import InputError
from tagsight.index.manifest import Manifest

NEAREST = 3
IRREGULAR = {
    "children": "child",
    "feet": "foot",
    "geese": "goose",
    "men": "man",
    "mice": "mouse",
    "oxen": "ox",
    "people": "person",
    "teeth": "tooth",
    "women": "woman",
}
# Ending of an inflected word -> endings of the word it may come from, the likelier first.
ENDINGS = {
    "ies": ("y", "ie"),
    "ves": ("f", "fe", "ve"),
    "es": ("", "e"),
    "s": ("",),
    "iest": ("y",),
    "ier": ("y",),
    "est": ("", "e"),
    "er": ("", "e"),
    "ied": ("y",),
    "ed": ("", "e"),
    "ing": ("", "e"),
    "y": ("", "e"),
}
SHORTEST_STEM = 2


class UnknownWordError(InputError):
    """A query has a word that the index does not know."""

    def __init__(self, word: str, nearest: tuple[str, ...]):
        super().__init__(word, nearest)
        self.word = word
        self.nearest = nearest

    def __str__(self) -> str:
        return f"the index does not know the word {self.word!r}; the nearest it knows are {', '.join(self.nearest)}"


class Words(NamedTuple):
    """Every word and the column of its factor; free factors by number, and by name where they have one."""

    factors: Mapping[str, int]  # as written
    squeezed: Mapping[str, int]  # without spaces and punctuation
    stems: Mapping[str, int]  # whatever a known word may be an inflection of
    shown: tuple[str, ...]  # of each factor, the word to show

    def find(self, text: str) -> int | None:
        """The factor that a word or several words mean: as written, without spaces, or inflected."""
        word = normalise_tag(text)
        if word in self.factors:
            return self.factors[word]
        plain = squeeze(word)
        if plain in self.squeezed:
            return self.squeezed[plain]
        for stem in list_stems(plain):
            if stem in self.squeezed:
                return self.squeezed[stem]
        return self.stems.get(plain)

    def suggest(self, text: str) -> tuple[str, ...]:
        """The known words nearest in spelling."""
        return tuple(get_close_matches(normalise_tag(text), list(self.factors), NEAREST, 0.0))


def make_words(manifest: Manifest, names: Mapping[str, str]) -> Words:
    """The words of an index, `names` being those given to free factors ({"free-7": "striped"})."""
    columns = {name: k for k, name in enumerate(manifest.factor_names)}
    factors = columns | {name: columns[factor] for factor, name in names.items() if factor in columns}
    squeezed: dict[str, int] = {}
    stems: dict[str, int] = {}
    for word, k in factors.items():
        squeezed.setdefault(squeeze(word), k)
        for stem in list_stems(squeeze(word)):
            stems.setdefault(stem, k)
    shown = tuple(names.get(factor, factor) for factor in manifest.factor_names)
    return Words(factors, squeezed, stems, shown)


def squeeze(word: str) -> str:
    """Letters and digits alone, so that "potted plant" is "pottedplant" and "foot shoe" is "foot/shoe"."""
    return re.sub(r"[\W_]+", "", word) or word.replace(" ", "")


def list_stems(word: str) -> Iterator[str]:
    """What a word may be a plural, a degree or a participle of."""
    if word in IRREGULAR:
        yield IRREGULAR[word]
    for ending, origins in ENDINGS.items():
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < SHORTEST_STEM:
            continue
        yield from (stem + origin for origin in origins)
        if ending in ("er", "est", "ed", "ing", "y") and stem[-1] == stem[-2]:
            yield stem[:-1]  # furry, bigger
