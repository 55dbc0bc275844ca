"""Queries such as "furry brown horse, shiny car -person".

    query   = clause {"," clause}       every clause in some region of the photo
    clause  = {word | "-" word}         all its words in one region; a word after "-" in no region of the photo
    word    = known tag of one or several words, or anything in double quotes

Words may be in any order. The longest known tag is taken, so "potted plant" is one word. Articles are ignored.
"""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from tagsight.data.vocabulary import normalise_tag
from tagsight.errors import InputError
from tagsight.index.manifest import Manifest

LONGEST_QUERY = 1000  # characters
LONGEST_TAG = 6  # most words of one tag
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
# Ending of an inflected word -> possible endings of its base form, more likely ones first.
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
    """A query has a word that is not in the index."""

    def __init__(self, word: str, nearest: tuple[str, ...]):
        super().__init__(word, nearest)
        self.word = word
        self.nearest = nearest

    def __str__(self) -> str:
        return f"the index has no word {self.word!r}; its words nearest in spelling are {', '.join(self.nearest)}"


class Words(NamedTuple):
    """Every word of queries and the column of its factor; free factors have their number and, if named, their name."""

    factors: Mapping[str, int]  # as written
    compact: Mapping[str, int]  # without spaces and punctuation
    stems: Mapping[str, int]  # base forms of which a known word may be an inflection
    shown: tuple[str, ...]  # the word to show, by factor

    def find(self, text: str) -> int | None:
        """The factor of one or several words: as written, without spaces, or inflected; None if there is none."""
        word = normalise_tag(text)
        if word in self.factors:
            return self.factors[word]
        plain = remove_separators(word)
        if plain in self.compact:
            return self.compact[plain]
        for stem in list_stems(plain):
            if stem in self.compact:
                return self.compact[stem]
        return self.stems.get(plain)

    def suggest(self, text: str) -> tuple[str, ...]:
        """The known words that are nearest in spelling."""
        return tuple(get_close_matches(normalise_tag(text), list(self.factors), NEAREST, 0.0))


class Query(NamedTuple):
    """The factors of each clause, and the factors that must not be in the photo."""

    clauses: tuple[tuple[int, ...], ...]
    without: tuple[int, ...]


class _Token(NamedTuple):
    text: str
    excluded: bool = False
    quoted: bool = False
    comma: bool = False


def parse_query(text: str, words: Words) -> Query:
    """Parse a query; raises `UnknownWordError` with the nearest words for an unknown one."""
    if len(text) > LONGEST_QUERY:
        raise InputError(f"the query has {len(text)} characters; at most {LONGEST_QUERY} are read")
    clauses: list[dict[int, None]] = [{}]
    without: dict[int, None] = {}
    tokens = _split(text)
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.comma:
            clauses.append({})
            at += 1
            continue
        factor, length = _read_word(tokens, at, words)
        if factor is not None:
            (without if token.excluded else clauses[-1])[factor] = None
        at += length
    nonempty = tuple(tuple(clause) for clause in clauses if clause)
    if not nonempty:
        raise InputError(f"the query {text!r} has no word to find; give one such as {_example(words)}")
    if sum(map(len, nonempty)) + len(without) > MOST_WORDS:
        raise InputError(f"the query has more than {MOST_WORDS} words; leave some out")
    return Query(nonempty, tuple(without))


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
    """The factor at a token, or None for an article; and the number of tokens that are read."""
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
    """The words of an index; `names` are those of free factors ({"free-7": "striped"})."""
    columns = {name: k for k, name in enumerate(manifest.factor_names)}
    factors = columns | {name: columns[factor] for factor, name in names.items() if factor in columns}
    compact: dict[str, int] = {}
    stems: dict[str, int] = {}
    for word, k in factors.items():
        compact.setdefault(remove_separators(word), k)
        for stem in list_stems(remove_separators(word)):
            stems.setdefault(stem, k)
    shown = tuple(names.get(factor, factor) for factor in manifest.factor_names)
    return Words(factors, compact, stems, shown)


def remove_separators(word: str) -> str:
    """The letters and digits of a word, so that "potted plant" and "pottedplant" are equal."""
    return re.sub(r"[\W_]+", "", word) or word.replace(" ", "")


def list_stems(word: str) -> Iterator[str]:
    """The words of which a word may be a plural, a degree or a participle."""
    if word in IRREGULAR:
        yield IRREGULAR[word]
    for ending, origins in ENDINGS.items():
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < SHORTEST_STEM:
            continue
        yield from (stem + origin for origin in origins)
        if ending in ("er", "est", "ed", "ing", "y") and stem[-1] == stem[-2]:
            yield stem[:-1]  # furry, bigger
