"""Parsing of queries."""

import string
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagsight.errors import InputError
from tagsight.index.query import LONGEST_QUERY, Query, UnknownWordError, make_words, parse_query

from .made import ATTRIBUTES, NO_PARTS, OBJECTS

NAMES = {"free-2": "zebra stripes"}
WORDS = make_words(NO_PARTS, NAMES)
HORSE, CAR, PLANT, BUS, FURRY, SHINY, CYLINDER, SHOE, FREE_1, STRIPES, FREE_3 = range(11)


def read(text: str) -> Query:
    return parse_query(text, WORDS)


@pytest.mark.parametrize(
    ("text", "clauses", "without"),
    [
        ("furry horse", ((FURRY, HORSE),), ()),
        ("horse furry, car shiny", ((HORSE, FURRY), (CAR, SHINY)), ()),
        ("Furry HORSES", ((FURRY, HORSE),), ()),
        ("a furry horse and".removesuffix(" and"), ((FURRY, HORSE),), ()),
        ("horse -car -shiny", ((HORSE,),), (CAR, SHINY)),
        ("-car horse", ((HORSE,),), (CAR,)),
        ("horse, -potted plants", ((HORSE,),), (PLANT,)),
        ("potted plant", ((PLANT,),), ()),
        ("furry potted plants shiny", ((FURRY, PLANT, SHINY),), ()),
        ("horiz cyl bus", ((CYLINDER, BUS),), ()),
        ('"horiz cyl" buses', ((CYLINDER, BUS),), ()),
        ('horse -"foot/shoe"', ((HORSE,),), (SHOE,)),
        ("foot shoe", ((SHOE,),), ()),
        ("foot/shoes", ((SHOE,),), ()),
        ("free-1 horse", ((FREE_1, HORSE),), ()),
        ("zebra stripes, free-3", ((STRIPES,), (FREE_3,)), ()),
        ("zebra stripe", ((STRIPES,),), ()),
        ("shinier car", ((SHINY, CAR),), ()),
        ("horse horses", ((HORSE,),), ()),
        ("horse,,", ((HORSE,),), ()),
        ("\uff28\uff2f\uff32\uff33\uff25", ((HORSE,),), ()),
    ],
)
def test_queries_are_parsed_into_clauses(
    text: str, clauses: tuple[tuple[int, ...], ...], without: tuple[int, ...]
) -> None:
    assert read(text) == Query(clauses, without)


@pytest.mark.parametrize(
    ("text", "clauses", "without"),
    [
        ("sea lion", ((2,),), ()),
        ("sea -lion", ((0,),), (1,)),
        ("sea, lion", ((0,), (1,)), ()),
        ('sea "lion"', ((0, 1),), ()),
        ("lion sea", ((1, 0),), ()),
        ("sealion", ((3,),), ()),
        ("sea lions", ((2,),), ()),
    ],
)
def test_the_longest_tag_is_read_unless_it_is_separated(
    text: str, clauses: tuple[tuple[int, ...], ...], without: tuple[int, ...]
) -> None:
    words = make_words(NO_PARTS._replace(objects=("sea", "lion", "sea lion", "sealion"), attributes=()), {})
    assert parse_query(text, words) == Query(clauses, without)


@given(st.permutations(["furry", "horse", "shiny", "-bus", "horiz cyl"]))
def test_order_of_words_does_not_matter(words: list[str]) -> None:
    query = read(" ".join(words))
    assert [set(clause) for clause in query.clauses] == [{FURRY, HORSE, SHINY, CYLINDER}]
    assert query.without == (BUS,)


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("ponies", "pony"), ("leaves", "leaf"), ("knives", "knife"), ("buses", "bus"), ("glasses", "glass"),
        ("people", "person"), ("feet", "foot"), ("women", "woman"), ("bigger", "big"), ("largest", "large"),
        ("feathered", "feather"), ("handlebar", "handlebars"), ("fur", "furry"), ("wings", "wing"),
    ],
)  # fmt: skip
def test_inflected_words_are_recognised(word: str, known: str) -> None:
    words = make_words(NO_PARTS._replace(objects=(known, "other"), attributes=()), {})
    assert words.find(word) == 0


def test_an_exact_word_is_preferred_to_an_inflection() -> None:
    words = make_words(NO_PARTS._replace(objects=("glass", "glasses", "car", "cars"), attributes=()), {})
    assert [words.find(word) for word in ("glass", "glasses", "cars", "car")] == [0, 1, 3, 2]


@pytest.mark.parametrize(
    ("word", "nearest"), [("hrose", "horse"), ("fury", "furry"), ("shny", "shiny"), ("caar", "car")]
)
def test_an_unknown_word_is_answered_with_the_nearest(word: str, nearest: str) -> None:
    with pytest.raises(UnknownWordError) as caught:
        read(f"horse {word}")
    assert caught.value.word == word
    assert nearest in caught.value.nearest
    assert repr(word) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "  ", ",", "-horse", "the", '"horse', "x" * (LONGEST_QUERY + 1), '""'])
def test_queries_without_a_word_to_find_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        read(text)


@settings(max_examples=100)
@given(st.text(max_size=60) | st.text(alphabet=' ,-"/' + string.ascii_letters, max_size=60))
def test_any_text_is_a_query_or_an_error_of_one_sentence(text: str) -> None:
    with suppress(InputError):
        assert all(read(text).clauses)


TAG = st.text(
    alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp", "Cf", "Cn"]), min_size=1, max_size=12
)


@settings(max_examples=100)
@given(st.lists(TAG, min_size=1, max_size=6, unique=True))
def test_any_tag_without_a_quote_is_found_in_quotes(tags: list[str]) -> None:
    from tagsight.data.vocabulary import normalise_tag

    spelt = tuple(dict.fromkeys(tag for tag in map(normalise_tag, tags) if tag and '"' not in tag))
    words = make_words(NO_PARTS._replace(objects=spelt, attributes=(), n_free=0), {})
    for k, tag in enumerate(spelt):
        assert parse_query(f'"{tag}"', words) == Query(((k,),), ())


def test_every_word_of_the_vocabulary_means_its_factor() -> None:
    for k, word in enumerate((*OBJECTS, *ATTRIBUTES, "free-1", "free-2", "free-3")):
        assert read(word) == Query(((k,),), ())
