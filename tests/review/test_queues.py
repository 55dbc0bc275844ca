"""Queues against slow definitions, and their order, filters, pages and evidence."""

from pathlib import Path

import numpy as np
import pytest

from tagsight.errors import InputError
from tagsight.predict.probabilities import to_probabilities
from tagsight.review.decided import open_for_review
from tagsight.review.queues import Item, PairQueue, list_next, list_pairs, review_photo, review_word
from tagsight.review.ranking import compute_uncertainty, rank_doubtful, rank_missing
from tagsight.review.records import Pair
from tagsight.review.table import ReviewTable, make_table, set_states
from tests.index.made import ATTRIBUTES, OBJECTS

from .made import decide, draw_index, put_index


def make(tmp_path: Path, *decisions: tuple[str, str, str, str], steps: int = 0) -> ReviewTable:
    collection, index = draw_index(tmp_path, steps=steps)
    return make_table(collection, index.snapshot, decide(tmp_path / "j.sqlite", *decisions))


def score_slowly(table: ReviewTable, row: int, kind: str, word: str) -> tuple[float, int]:
    """P and the region of its maximum, by the equations of `review.scores`."""
    assert table.snapshot is not None
    p = to_probabilities(
        table.snapshot.read_photo_levels(
            range(len(OBJECTS) + len(ATTRIBUTES)), int(table.snapshot.photos[table.places[row]])
        )
    )
    if kind == "object":
        values = p[:, OBJECTS.index(word)]
    else:
        known = [
            OBJECTS.index(one.word) for k, one in enumerate(table.words) if one.word in OBJECTS and table.known[row, k]
        ]
        weights = [max(region[o] / p[:, o].max() for o in known) if known else 1.0 for region in p]
        values = np.array(weights) * p[:, len(OBJECTS) + ATTRIBUTES.index(word)]
    return float(values.max()), int(values.argmax())


def test_probabilities_are_those_of_their_definition(tmp_path: Path) -> None:
    table = make(tmp_path, ("00.jpg", "object", "bus", "yes"), ("01.jpg", "object", "horse", "no"))
    for row, photo in enumerate(table.photos):
        for item in review_photo(table, row):
            assert item.word is not None
            score, region = score_slowly(table, row, str(item.kind), item.word)
            assert item.score == pytest.approx(score, abs=1e-6), (photo, item)
            assert item.evidence is not None
            assert item.evidence.region == region
            assert item.evidence.photo == table.snapshot.photos[table.places[row]]  # pyright: ignore[reportOptionalMemberAccess]


def test_an_attribute_counts_where_the_known_object_is(tmp_path: Path) -> None:
    """A car in region 0 and a horse in region 1; only the car is shiny."""
    collection, _ = draw_index(tmp_path, 2)
    horse, car, shiny = OBJECTS.index("horse"), OBJECTS.index("car"), len(OBJECTS) + ATTRIBUTES.index("shiny")
    posterior = np.zeros((2, 11))
    posterior[0, [car, shiny]] = 0.9
    posterior[1, horse] = 0.8
    index = put_index(tmp_path / "other", collection, [posterior, posterior])
    entries = decide(
        tmp_path / "j.sqlite",
        *[("00.jpg", "object", word, "no") for word in ("car", "bus")],
        ("00.jpg", "object", "horse", "yes"),
        *[("01.jpg", "object", word, "no") for word in ("horse", "bus")],
        ("01.jpg", "object", "car", "yes"),
    )
    table = make_table(collection, index.snapshot, entries)
    column = table.find_word("shiny")
    assert table.probability[:, column] == pytest.approx([0.0, 0.9], abs=1e-4)


@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("queue", ["suggested", "doubtful"])
def test_a_queue_is_every_open_pair_in_order(tmp_path: Path, queue: PairQueue, steps: int) -> None:
    table = make(tmp_path, ("00.jpg", "object", "bus", "yes"), ("03.jpg", "attribute", "shiny", "no"), steps=steps)
    expected = []
    for row, photo in enumerate(table.photos):
        for column, (word, kind) in enumerate(table.words):
            p = float(table.probability[row, column])
            if table.tagged[row, column] == (queue == "doubtful") and table.decided[row, column] == 0:
                expected.append((-p if queue == "suggested" else p, photo, word, kind))
    found = list_pairs(table, queue, top=1000)
    assert [(item.photo, item.word, item.kind) for item in found] == [tuple(one[1:]) for one in sorted(expected)]
    paged: list[Item] = []
    while page := list_pairs(table, queue, top=7, after=paged[-1].pair if paged else None):
        paged += page
    assert paged == found
    for name in ("horse", "furry"):
        column = table.find_word(name)
        assert list_pairs(table, queue, word=column, top=1000) == [item for item in found if item.word == name]
    assert list_pairs(table, queue, photo=2, top=1000) == [item for item in found if item.photo == "02.jpg"]
    cut = found[len(found) // 2].priority
    likely = [item for item in found if item.priority >= cut]
    assert list_pairs(table, queue, threshold=cut, top=1000) == likely
    assert len(likely) < len(found) or steps


def test_a_page_continues_after_a_pair_that_was_decided_meanwhile(tmp_path: Path) -> None:
    table = make(tmp_path)
    found = list_pairs(table, "suggested", top=6)
    decided = set_states(table, {found[2].pair: "no"})
    assert list_pairs(decided, "suggested", top=3, after=found[2].pair) == found[3:]
    assert found[2] not in list_pairs(decided, "suggested", top=6)
    again = set_states(decided, {found[2].pair: None})
    assert list_pairs(again, "suggested", top=6) == found


def test_review_lists_tagged_and_decided_pairs_too(tmp_path: Path) -> None:
    table = make(tmp_path, ("00.jpg", "object", "bus", "no"), ("00.jpg", "object", "cow", "yes"))
    items = review_photo(table, 0)
    assert len(items) == len(table.words)
    assert [item.score for item in items[:-1]] == sorted((item.score or 0 for item in items[:-1]), reverse=True)
    assert {item.word: item.decided for item in items} == {
        word.word: {"bus": "no", "cow": "yes"}.get(word.word) for word in table.words
    }
    assert (items[-1].word, items[-1].score, items[-1].evidence) == ("cow", None, None)
    by_word = review_word(table, table.find_word("bus"), top=100)
    assert [item.photo for item in sorted(by_word, key=lambda item: (-(item.score or 0), item.photo))] == [
        item.photo for item in by_word
    ]
    assert len(by_word) == len(table.photos)
    assert review_word(table, table.find_word("bus"), top=100, after=by_word[4].pair) == by_word[5:]


def test_the_next_photos_are_uncertain_and_have_no_tag_and_no_decision(tmp_path: Path) -> None:
    table = make(tmp_path, ("02.jpg", "object", "horse", "no"))
    untouched = {
        photo for row, photo in enumerate(table.photos) if not table.tagged[row].any() and not table.decided[row].any()
    }
    found = list_next(table, top=1000)
    assert {item.photo for item in found} == untouched
    assert 0 < len(untouched) < len(table.photos)
    for item in found:
        row = table.find_photo(item.photo)
        uncertainty = compute_uncertainty(table.probability[row])
        assert uncertainty[table.find_word(str(item.word))] == uncertainty.max()
    word = table.find_word("horse")
    of_word = {item.photo for item in list_next(table, word=word, top=1000)}
    assert of_word == {photo for row, photo in enumerate(table.photos) if not table.tagged[row, word]} - {"02.jpg"}


def test_the_first_photos_of_an_untagged_collection_are_diverse(tmp_path: Path) -> None:
    collection, _ = draw_index(tmp_path, 9)
    table = make_table(
        collection._replace(
            photos=tuple(p._replace(objects=(), attributes=()) for p in collection.photos),
            vocabulary=collection.vocabulary._replace(objects=(), attributes=()),
        ),
        None,
        [],
    )
    vectors = np.repeat(np.eye(3, dtype=np.float32), 3, axis=0)
    found = list_next(table, vectors=vectors, top=3)
    assert {table.find_photo(item.photo) // 3 for item in found} == {0, 1, 2}
    assert {(item.word, item.score, item.evidence) for item in found} == {(None, None, None)}
    with pytest.raises(InputError, match="an index or by vectors"):
        list_next(table)


def test_photos_that_are_not_in_the_index_are_in_no_queue(tmp_path: Path) -> None:
    collection, index = draw_index(tmp_path)
    (collection.root / "new.jpg").touch()
    table = make_table(open_for_review(collection.root), index.snapshot, [])
    row = table.find_photo("new.jpg")
    assert np.isnan(table.probability[row]).all()
    for items in (list_pairs(table, "suggested", top=1000), list_next(table, top=1000)):
        assert "new.jpg" not in {item.photo for item in items}
    assert {item.score for item in review_photo(table, row)} == {None}


@pytest.mark.parametrize("above", [True, False])
def test_the_index_may_be_of_a_folder_above_or_below(tmp_path: Path, above: bool) -> None:
    collection, index = draw_index(tmp_path)
    inside = collection.root
    if above:
        outside = collection._replace(root=tmp_path)
        other = put_index(tmp_path / "outer", outside, [np.full((1, 11), 0.5)] * 12)
        table = make_table(collection, other.snapshot, [])
        assert (table.places >= 0).all()
    else:
        (tmp_path / "more.jpg").touch()
        table = make_table(open_for_review(tmp_path), index.snapshot, [])
        places = dict(zip(table.photos, table.places.tolist(), strict=True))
        assert places.pop("more.jpg") == -1
        assert sorted(places.values()) == list(range(12))
    assert inside.is_dir()


def test_new_words_get_a_column(tmp_path: Path) -> None:
    table = make(tmp_path)
    changed = set_states(
        table, {Pair("00.jpg", "object", "aardvark"): "yes", Pair("gone.jpg", "object", "zebra"): "yes"}
    )
    assert changed.words == tuple(sorted({*table.words, ("aardvark", "object"), ("zebra", "object")}))
    assert np.argwhere(changed.decided).tolist() == [[0, 0]]
    before = {word: table.probability[:, k].tolist() for k, word in enumerate(table.words)}
    for k, word in enumerate(changed.words):
        if word in before:
            assert changed.probability[:, k].tolist() == before[word]
    assert not table.decided.any()


def test_unknown_words_and_photos_are_refused(tmp_path: Path) -> None:
    table = make(tmp_path)
    with pytest.raises(InputError, match="nearest in spelling are horse"):
        table.find_word("hrse")
    with pytest.raises(InputError, match=r"there is no photo 'x\.jpg'"):
        table.find_photo("x.jpg")


def test_the_rankings_are_those_of_their_definitions() -> None:
    probability = np.array([[0.9, 0.2, np.nan], [0.4, 0.7, 0.5]], np.float32)
    tagged = np.array([[True, False, True], [False, True, False]])
    np.testing.assert_allclose(rank_missing(probability, tagged), [[np.nan, 0.2, np.nan], [0.4, np.nan, 0.5]])
    np.testing.assert_allclose(
        rank_doubtful(probability, tagged), [[0.1, np.nan, np.nan], [np.nan, 0.3, np.nan]], rtol=1e-6
    )
    np.testing.assert_allclose(
        compute_uncertainty(np.array([[0.0, 0.5, 1.0, np.nan, 0.25]])), [[0, 1, 0, 0, 0.811278]], rtol=1e-6
    )
