"""Word lists: the kind of each word, for collections whose keywords are not marked as nouns or adjectives."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tagsight.data.jsonvalues import is_object, is_words
from tagsight.data.textfiles import read_csv, read_json
from tagsight.data.vocabulary import KINDS, normalise_tag
from tagsight.errors import InputError


class WordList(NamedTuple):
    """The kind of each word, in the order of the file."""

    kinds: Mapping[str, str]


class SortedWords(NamedTuple):
    """Keywords by kind; `unknown` are those that the word list lacks."""

    objects: tuple[str, ...]
    attributes: tuple[str, ...]
    unknown: tuple[str, ...]


def load_wordlist(path: Path) -> WordList:
    """Read a CSV with the columns ``word,kind``, or JSON ``{"objects": [...], "attributes": [...]}``."""
    kinds: dict[str, str] = {}
    for word, kind in _read_json_words(path) if path.suffix.lower() == ".json" else _read_csv_words(path):
        tag = normalise_tag(word)
        if tag and kinds.setdefault(tag, kind) != kind:
            raise InputError(
                f"{str(path)!r} has {tag!r} as an object and as an attribute: keep one, and tag the other "
                "meaning by another word"
            )
    if not kinds:
        raise InputError(f"{str(path)!r} holds no word: add lines such as 'horse,object' and 'furry,attribute'")
    return WordList(kinds)


def sort_words(wordlist: WordList, words: Iterable[str]) -> SortedWords:
    """Sort words into nouns, adjectives and words that the list lacks."""
    found: dict[str | None, dict[str, None]] = {"object": {}, "attribute": {}, None: {}}
    for tag in filter(None, map(normalise_tag, words)):
        found[wordlist.kinds.get(tag)][tag] = None
    return SortedWords(tuple(found["object"]), tuple(found["attribute"]), tuple(found[None]))


def _read_csv_words(path: Path) -> list[tuple[str, str]]:
    table = read_csv(path)
    if set(table.columns) != {"word", "kind"}:
        raise InputError(
            f"{str(path)!r} has the columns {', '.join(table.columns)}: a word list has the columns word,kind"
        )
    if table.faults:
        fault = table.faults[0]
        raise InputError(f"{str(path)!r}, {fault.where}: {fault.reason}: correct that line")
    return [
        (values["word"], _read_kind(path, where, values["kind"].strip().casefold())) for where, values in table.records
    ]


def _read_kind(path: Path, where: str, kind: str) -> str:
    if kind not in KINDS:
        raise InputError(f"{str(path)!r}, {where}: kind {kind!r} is none of {', '.join(KINDS)}")
    return KINDS[kind]


def _read_json_words(path: Path) -> list[tuple[str, str]]:
    content: Any = read_json(path)
    if not is_object(content) or not set(content) <= {"objects", "attributes"}:
        raise InputError(f'{str(path)!r} must hold {{"objects": [words], "attributes": [words]}}')
    pairs: list[tuple[str, str]] = []
    for key, kind in (("objects", "object"), ("attributes", "attribute")):
        words = content.get(key, [])
        if not is_words(words):
            raise InputError(f"{str(path)!r}: {key!r} must be a list of words")
        pairs += [(word, kind) for word in words]
    return pairs
