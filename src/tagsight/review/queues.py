"""Queues: the photos and words to decide next, best first.

- `suggested`: words that photos probably lack, the most probable first.
- `doubtful`: tags that are probably wrong, the least probable first.
- `next`: photos worth tagging now, by uncertainty and diversity (`selection.py`).

Decided pairs are left out. Equal priorities are in the order of photos and words, so queues are deterministic.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from tagsight.errors import InputError
from tagsight.index.search import select_best
from tagsight.review.ranking import compute_uncertainty, rank_doubtful, rank_missing
from tagsight.review.records import Kind, Pair, State
from tagsight.review.scores import Evidence, find_evidence
from tagsight.review.selection import choose_representatives, read_photo_vectors
from tagsight.review.table import NAMES, ReviewTable, list_known_objects
from tagsight.types import Array, Ints

PairQueue = Literal["suggested", "doubtful"]
RANKINGS: dict[PairQueue, Callable[[Array, Array], Array]] = {"suggested": rank_missing, "doubtful": rank_doubtful}
QUEUES = (*RANKINGS, "next")
TOP = 20


class Item(NamedTuple):
    """A photo and a word, and what is known about them."""

    photo: str  # relative to the collection's folder
    kind: Kind | None
    word: str | None  # None: in `next`, if the model predicts no word of the photo
    score: float | None  # probability of the word; None: the model does not predict it
    priority: float  # by which the queue is sorted
    tagged: bool  # whether the word is a tag of the photo
    decided: State | None  # None: not decided
    evidence: Evidence | None  # None: the photo or the word is not in the index

    @property
    def pair(self) -> Pair:
        """The photo and the word, for `after`."""
        assert self.kind is not None
        assert self.word is not None
        return Pair(self.photo, self.kind, self.word)

    def to_json(self) -> dict[str, Any]:
        """The JSON value that `review --json` prints."""
        where = None if self.evidence is None else {"region": self.evidence.region, "box": self.evidence.box}
        return {
            "image": self.photo,
            "kind": self.kind,
            "word": self.word,
            "score": self.score,
            "priority": self.priority,
            "tagged": self.tagged,
            "decided": self.decided,
            "evidence": where,
        }


def list_pairs(
    table: ReviewTable,
    queue: PairQueue,
    *,
    photo: int | None = None,
    word: int | None = None,
    threshold: float = 0.0,
    top: int = TOP,
    after: Pair | None = None,
) -> list[Item]:
    """The first `top` pairs of a queue, or those after a pair of it, whose priority is at least `threshold`.

    `photo` and `word` limit the queue to a row and a column of the table.
    """
    rows, columns = _choose(photo, len(table.photos)), _choose(word, len(table.words))
    grid = np.ix_(rows, columns)
    priority = RANKINGS[queue](table.probability[grid], table.tagged[grid])
    with np.errstate(invalid="ignore"):
        wanted = (table.decided[grid] == 0) & (priority >= threshold)
    return _take(table, rows, columns, priority, wanted, top, after)


def review_word(table: ReviewTable, word: int, *, top: int = TOP, after: Pair | None = None) -> list[Item]:
    """All photos by the probability of one word, tagged and decided ones included; photos without one come last."""
    return _review(table, _choose(None, len(table.photos)), _choose(word, len(table.words)), top, after)


def review_photo(table: ReviewTable, photo: int, *, top: int | None = None) -> list[Item]:
    """All words by their probability in one photo, tagged and decided ones included; unpredicted words come last."""
    columns = _choose(None, len(table.words))
    return _review(table, _choose(photo, len(table.photos)), columns, len(columns) if top is None else top, None)


def list_next(
    table: ReviewTable, *, vectors: Array | None = None, word: int | None = None, top: int = TOP
) -> list[Item]:
    """The photos that are most worth tagging now, each with its most uncertain word.

    Photos without a tag and a decision come first; if there are none, all photos with undecided words. With `word`,
    photos for which that word is neither a tag nor decided. `vectors` (I, D) are of unit length or zero for photos
    that cannot be compared; by default they are read from the index.
    """
    vectors = _read_vectors(table) if vectors is None else vectors
    columns = _choose(word, len(table.words))
    open_words = ~table.tagged[:, columns] & (table.decided[:, columns] == 0)
    done = ~open_words.all(axis=1) if len(columns) else np.zeros(len(table.photos), bool)
    can_compare = vectors.any(axis=1)
    candidates = ~done & can_compare
    if not candidates.any():
        done, candidates = np.zeros(len(done), bool), open_words.any(axis=1) & can_compare
    uncertainty = compute_uncertainty(table.probability[:, columns]) * open_words
    weights = uncertainty.sum(axis=1)
    if not weights[candidates].any():
        weights = np.ones(len(table.photos))
    chosen = choose_representatives(vectors, weights * can_compare, done=done, candidates=candidates, top=top)
    return [_make_next(table, row, columns, uncertainty[row], gain) for row, gain in chosen]


def _make_next(table: ReviewTable, row: int, columns: Ints, uncertainty: Array, gain: float) -> Item:
    if not uncertainty.any():
        return Item(table.photos[row], None, None, None, gain, False, None, None)
    return _make_item(table, row, int(columns[uncertainty.argmax()]), gain)


def _read_vectors(table: ReviewTable) -> Array:
    if table.snapshot is None:
        raise InputError("photos are compared by an index or by vectors: give one of them")
    return read_photo_vectors(table.snapshot, table.places)


def _review(table: ReviewTable, rows: Ints, columns: Ints, top: int, after: Pair | None) -> list[Item]:
    priority = np.nan_to_num(table.probability[np.ix_(rows, columns)], nan=-1.0)
    return _take(table, rows, columns, priority, np.ones(priority.shape, bool), top, after)


def _choose(one: int | None, n: int) -> Ints:
    return np.arange(n) if one is None else np.array([one])


def _take(
    table: ReviewTable, rows: Ints, columns: Ints, priority: Array, wanted: Array, top: int, after: Pair | None
) -> list[Item]:
    """The items of the highest priorities where `wanted`; both are (rows, columns) of the table."""
    flat, order = priority.ravel(), np.arange(priority.size)
    left = np.flatnonzero(wanted)
    if after is not None:
        row, column = table.find_photo(after.photo), table.find_word(after.word, after.kind)
        last = int(np.searchsorted(rows, row) * len(columns) + np.searchsorted(columns, column))
        left = left[(flat[left] < flat[last]) | ((flat[left] == flat[last]) & (left > last))]
    best = select_best(flat, order, left, top)
    best = best[np.lexsort((best, -flat[best]))]
    return [
        _make_item(table, int(rows[i // len(columns)]), int(columns[i % len(columns)]), float(flat[i]))
        for i in best.tolist()
    ]


def _make_item(table: ReviewTable, row: int, column: int, priority: float) -> Item:
    word, probability = table.words[column], float(table.probability[row, column])
    return Item(
        table.photos[row],
        word.kind,
        word.word,
        None if np.isnan(probability) else probability,
        priority,
        bool(table.tagged[row, column]),
        NAMES[int(table.decided[row, column])],
        _find_evidence(table, row, column),
    )


def _find_evidence(table: ReviewTable, row: int, column: int) -> Evidence | None:
    place, factor = int(table.places[row]), int(table.factors[column])
    if table.snapshot is None or place < 0 or factor < 0:
        return None
    known = list_known_objects(table, np.array([row]))[0]
    return find_evidence(table.snapshot, int(table.snapshot.photos[place]), factor, known)
