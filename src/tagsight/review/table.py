"""The table of a review: the tag, the decision and the probability of every photo and word."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.data.collection import Collection
from tagsight.data.vocabulary import normalise_tag
from tagsight.errors import InputError
from tagsight.index.snapshot import Snapshot
from tagsight.review.decided import name_photo
from tagsight.review.records import Entry, Kind, Pair, State
from tagsight.review.scores import score_words
from tagsight.types import Array, Ints

STATES: dict[State | None, int] = {"yes": 1, "no": -1, "unsay": 0, None: 0}
NAMES: dict[int, State | None] = {1: "yes", -1: "no", 0: None}
_SHOWN = 3  # words that a message suggests


class Word(NamedTuple):
    """A word and its kind."""

    word: str
    kind: Kind


class ReviewTable(NamedTuple):
    """What is known of I photos and K words. Equal scores are in the order of the photos and words."""

    root: Path  # the folder of the collection
    photos: tuple[str, ...]  # (I,) paths relative to the root, ascending
    words: tuple[Word, ...]  # (K,) ascending
    tagged: Array  # (I, K) bool, by the tags of the collection
    decided: Array  # (I, K) int8: 1 yes, -1 no, 0 not decided
    probability: Array  # (I, K) float32, of the word in the photo; NaN: not predicted
    snapshot: Snapshot | None  # the index that predicted; None: nothing is predicted
    places: Ints  # (I,) position of each photo in the index, -1 if it is not there
    factors: Ints  # (K,) factor of each word in the index, -1 if the model does not know it

    @property
    def known(self) -> Array:
        """(I, K) bool: which words the photos have by tags and decisions."""
        return (self.tagged & (self.decided >= 0)) | (self.decided > 0)

    def find_photo(self, photo: str) -> int:
        """The row of a photo by its path relative to the root."""
        row = bisect_left(self.photos, photo)
        if row == len(self.photos) or self.photos[row] != photo:
            raise InputError(f"there is no photo {photo!r} in {str(self.root)!r}: give its path in that folder")
        return row

    def find_word(self, text: str, kind: Kind | None = None) -> int:
        """The column of a word, which may have a kind to tell an object from an attribute."""
        word = normalise_tag(text)
        for column, known in enumerate(self.words):
            if known.word == word and kind in (None, known.kind):
                return column
        nearest = get_close_matches(word, [known.word for known in self.words], _SHOWN, 0.0)
        raise InputError(f"there is no word {text!r}; the words nearest in spelling are {', '.join(nearest) or 'none'}")


def make_table(collection: Collection, snapshot: Snapshot | None, entries: Iterable[Entry]) -> ReviewTable:
    """The table of a collection, the predictions of an index and the current decisions of a journal.

    Its words are those of the three together. Decisions about photos that are not in the collection are left out.
    """
    entries = list(entries)
    tagged = {name_photo(collection, photo.path): photo for photo in collection.photos}
    photos = tuple(sorted(tagged))
    words = tuple(sorted({*_list_words(collection, snapshot), *(Word(one.word, one.kind) for one in entries)}))
    columns = {word: column for column, word in enumerate(words)}
    tags = np.zeros((len(photos), len(words)), bool)
    for row, name in enumerate(photos):
        tags[row, [columns[Word(word, "object")] for word in tagged[name].objects]] = True
        tags[row, [columns[Word(word, "attribute")] for word in tagged[name].attributes]] = True
    table = ReviewTable(
        collection.root,
        photos,
        words,
        tags,
        np.zeros(tags.shape, np.int8),
        np.full(tags.shape, np.nan, np.float32),
        snapshot,
        _find_places(collection.root, photos, snapshot),
        _find_factors(words, snapshot),
    )
    return _predict(set_states(table, {entry.pair: entry.state for entry in entries}))


def set_states(table: ReviewTable, states: Mapping[Pair, State | None]) -> ReviewTable:
    """The table with other decisions about some photos and words; new words get columns, unknown photos are left out.

    Probabilities do not change. They depend on the objects that were known when the table was made.
    """
    new = {Word(pair.word, pair.kind) for pair in states} - set(table.words)
    table = _add_words(table, new) if new else table
    rows = {name: row for row, name in enumerate(table.photos)}
    columns = {word: column for column, word in enumerate(table.words)}
    decided = table.decided.copy()
    for pair, state in states.items():
        if pair.photo in rows:
            decided[rows[pair.photo], columns[Word(pair.word, pair.kind)]] = STATES[state]
    return table._replace(decided=decided)


def _add_words(table: ReviewTable, new: set[Word]) -> ReviewTable:
    words = (*table.words, *sorted(new))
    order = sorted(range(len(words)), key=words.__getitem__)

    def widen(values: Array, fill: float) -> Array:
        added = np.full((len(values), len(new)), fill, values.dtype)
        return np.hstack([values, added])[:, order]

    return table._replace(
        words=tuple(words[column] for column in order),
        tagged=widen(table.tagged, False),
        decided=widen(table.decided, 0),
        probability=widen(table.probability, np.nan),
        factors=np.append(table.factors, np.full(len(new), -1))[order],
    )


def _list_words(collection: Collection, snapshot: Snapshot | None) -> set[Word]:
    vocabularies = [collection.vocabulary, *([snapshot.manifest] if snapshot else [])]
    objects = {Word(word, "object") for words in vocabularies for word in words.objects}
    return objects | {Word(word, "attribute") for words in vocabularies for word in words.attributes}


def _find_places(root: Path, photos: tuple[str, ...], snapshot: Snapshot | None) -> Ints:
    """The position of each photo in the index, whose root may be another folder above or below."""
    places = np.full(len(photos), -1)
    if snapshot is None:
        return places
    indexed = {path: place for place, path in enumerate(snapshot.list_paths())}
    here, there = root.resolve(), Path(snapshot.manifest.root).resolve()
    added = f"{here.relative_to(there).as_posix()}/" if here.is_relative_to(there) and here != there else ""
    removed = f"{there.relative_to(here).as_posix()}/" if there.is_relative_to(here) and here != there else ""
    if here == there or added or removed:
        for row, name in enumerate(photos):
            if name.startswith(removed):
                places[row] = indexed.get(added + name.removeprefix(removed), -1)
    return places


def _find_factors(words: tuple[Word, ...], snapshot: Snapshot | None) -> Ints:
    if snapshot is None:
        return np.full(len(words), -1)
    objects, attributes = snapshot.manifest.objects, snapshot.manifest.attributes
    factors = {Word(word, "object"): k for k, word in enumerate(objects)}
    factors |= {Word(word, "attribute"): k for k, word in enumerate(attributes, len(objects))}
    return np.array([factors.get(word, -1) for word in words], np.int64)


def _predict(table: ReviewTable) -> ReviewTable:
    """The table with the probabilities of its index."""
    rows, columns = np.flatnonzero(table.places >= 0), np.flatnonzero(table.factors >= 0)
    if table.snapshot is None or not len(rows):
        return table
    known = np.zeros((len(table.snapshot.photos), len(table.snapshot.manifest.objects)), bool)
    known[table.places[rows]] = list_known_objects(table, rows)
    scores = score_words(table.snapshot, known)
    probability = table.probability.copy()
    probability[np.ix_(rows, columns)] = scores[np.ix_(table.places[rows], table.factors[columns])]
    return table._replace(probability=probability)


def list_known_objects(table: ReviewTable, rows: Ints) -> Array:
    """(n, K_o) bool: the objects of the index that the photos of some rows are known to have."""
    assert table.snapshot is not None
    known = np.zeros((len(rows), len(table.snapshot.manifest.objects)), bool)
    columns = np.flatnonzero([word.kind == "object" for word in table.words] & (table.factors >= 0))
    known[:, table.factors[columns]] = table.known[np.ix_(rows, columns)]
    return known
