"""What people type: "furry brown horse, shiny car -person".

    query   = thing {"," thing}         each thing somewhere in the photo
    thing   = {word | "-" word}         every word in one region; a word after "-" nowhere in the photo
    word    = known tag, one or several words long, or anything in double quotes

Words come in any order. The longest known tag wins, so "potted plant" is one word. Articles are passed over.
"""

import re
from typing import NamedTuple

from tagsight.errors import InputError
from tagsight.index.words import UnknownWordError, Words

LONGEST_QUERY = 1000  # characters
LONGEST_TAG = 6  # words that may make up one tag
MOST_WORDS = 32
ARTICLES = frozenset({"a", "an", "the"})
_TOKEN = re.compile(r'(-?)"([^"]*)"|(,)|(-?)([^\s,"]+)|(")')


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
