"""What people type: "furry brown horse, shiny car -person".

    query   = thing {"," thing}         each thing somewhere in the photo
    thing   = {word | "-" word}         every word in one region; a word after "-" nowhere in the photo
    word    = known tag, one or several words long, or anything in double quotes

Words come in any order. The longest known tag wins, so "potted plant" is one word. Articles are passed over.
"""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from tagsight.data.vocabulary import normalise_tag
from tagsight.errors import InputError
from tagsight.index.manifest import Manifest

LONGEST_QUERY = 1000  # characters
LONGEST_TAG = 6  # words that may make up one tag
MOST_WORDS = 32
ARTICLES = frozenset({"a", "an", "the"})
_TOKEN = re.compile(r'(-?)"([^"]*)"|(,)|(-?)([^\s,"]+)|(")')
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


class Query(NamedTuple):
    """Factors asked for: each thing's together in one region, and those that may be nowhere."""

    things: tuple[tuple[int, ...], ...]
    without: tuple[int, ...]


class _Token(NamedTuple):
    text: str
    excluded: bool = False
    quoted: bool = False
    comma: bool = False


def parse_query(text: str, words: Words) -> Query:
    """Read a query; an unknown word raises `UnknownWordError`, which knows the nearest ones."""
    if len(text) > LONGEST_QUERY:
        raise InputError(f"the query has {len(text)} characters; at most {LONGEST_QUERY} are read")
    things: list[dict[int, None]] = [{}]
    without: dict[int, None] = {}
    tokens = _split(text)
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.comma:
            things.append({})
            at += 1
            continue
        factor, length = _read_word(tokens, at, words)
        if factor is not None:
            (without if token.excluded else things[-1])[factor] = None
        at += length
    asked = tuple(tuple(thing) for thing in things if thing)
    if not asked:
        raise InputError(f"the query {text!r} asks for nothing; give a word such as {_example(words)}")
    if sum(map(len, asked)) + len(without) > MOST_WORDS:
        raise InputError(f"the query has more than {MOST_WORDS} words; leave some out")
    return Query(asked, tuple(without))


def _split(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    for match in _TOKEN.finditer(text):
        minus_quoted, quoted, comma, minus, bare, stray = match.groups()
        if stray:
            raise InputError(f"the query {text!r} has a quote that is not closed")
        if comma:
            tokens.append(_Token(",", comma=True))
        elif quoted is not None:
            tokens.append(_Token(quoted, bool(minus_quoted), quoted=True))
        else:
            tokens.append(_Token(bare, bool(minus)))
    return tokens


def _read_word(tokens: list[_Token], at: int, words: Words) -> tuple[int | None, int]:
    """The factor at a token and how many tokens it takes; None for an article."""
    first = tokens[at]
    span = 1
    while not first.quoted and span < LONGEST_TAG and at + span < len(tokens):
        following = tokens[at + span]
        if following.comma or following.quoted or following.excluded:
            break
        span += 1
    for length in range(span, 0, -1):
        text = " ".join(token.text for token in tokens[at : at + length])
        factor = words.find(text)
        if factor is not None:
            return factor, length
    if first.text.casefold() in ARTICLES and not first.quoted:
        return None, 1
    raise UnknownWordError(first.text, words.suggest(first.text))


def _example(words: Words) -> str:
    return repr(next(iter(words.factors), "horse"))


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
