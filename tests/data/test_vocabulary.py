import unicodedata
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagsight.data.vocabulary import Vocabulary, normalise_tag, order_words, tag_matrix

text = st.text(max_size=20)


class Item(NamedTuple):
    objects: tuple[str, ...]
    attributes: tuple[str, ...]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("  Horse ", "horse"),
        ("dining \t\n  table", "dining table"),
        ("Straße", "strasse"),
        ("ﬁre\u00a0truck", "fire truck"),
        ("Cafe\u0301", "café"),
        ("hor\u200bse\ufeff", "horse"),
        ("a\x00b", "a b"),
        ("👩\u200d🚒", "👩\u200d🚒"),
        (" \u3000 ", ""),
    ],
)
def test_normalise_examples(written: str, expected: str) -> None:
    assert normalise_tag(written) == expected


@given(text)
def test_normalising_twice_changes_nothing(tag: str) -> None:
    assert normalise_tag(normalise_tag(tag)) == normalise_tag(tag)


@given(text)
def test_case_composition_and_padding_do_not_matter(tag: str) -> None:
    expected = normalise_tag(tag)
    assert normalise_tag(tag.casefold()) == expected
    assert normalise_tag(unicodedata.normalize("NFD", tag)) == expected
    assert normalise_tag(f"\t {tag}\u3000") == expected


@given(st.text(alphabet="abcxyzäöüßéñçøåβδλςжшя", max_size=20))
def test_capitals_do_not_matter(tag: str) -> None:
    assert normalise_tag(tag.upper()) == normalise_tag(tag.title()) == normalise_tag(tag)


@given(text)
def test_a_tag_has_no_stray_space_or_control_character(tag: str) -> None:
    result = normalise_tag(tag)
    assert result == " ".join(result.split())
    assert not any(unicodedata.category(character) == "Cc" for character in result)


def test_declared_order_first_then_sorted() -> None:
    assert order_words({"b", "a", "z"}, ["z", "q", "z"]) == ("z", "q", "a", "b")
    assert order_words(["b", "a", "b"]) == ("a", "b")


def test_matrix_has_objects_before_attributes() -> None:
    vocabulary = Vocabulary(("horse", "car"), ("furry", "red"))
    items = [Item(("car",), ("red", "furry")), Item((), ()), Item(("horse", "unheard of"), ("odd",))]
    matrix = tag_matrix(items, vocabulary)
    assert matrix.dtype == np.uint8
    np.testing.assert_array_equal(matrix, [[0, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0]])
    assert vocabulary.names == ("horse", "car", "furry", "red")


def test_matrix_of_nothing_has_the_right_shape() -> None:
    assert tag_matrix([], Vocabulary(("a",), ("b",))).shape == (0, 2)
    assert tag_matrix([Item((), ())], Vocabulary((), ())).shape == (1, 0)
