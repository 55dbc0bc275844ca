"""The words of a collection: the spelling of tags, the order of their columns, and the tags of photos as a matrix."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
"""Invisible characters, for `str.translate`: two tags that differ by one of these look the same."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

KINDS = {"object": "object", "noun": "object", "attribute": "attribute", "adjective": "attribute"}
"""Names of the kinds of tags in files, and the kinds they mean."""


class Tagged(Protocol):
    """Anything with object and attribute tags, such as a photo or a box."""

    @property
    def objects(self) -> tuple[str, ...]:
        """The nouns."""
        ...

    @property
    def attributes(self) -> tuple[str, ...]:
        """The adjectives."""
        ...


class Vocabulary(NamedTuple):
    """The tags in column order: objects first, then attributes."""

    objects: tuple[str, ...]
    attributes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All tags in column order."""
        return self.objects + self.attributes


def normalise_tag(text: str) -> str:
    """The spelling in which a tag is compared and shown; it may be empty.

    It is the compatibility caseless form of Unicode, NFKC(fold(NFKC(fold(NFD(text))))); one folding is not enough,
    since NFKC can produce capitals. Control characters and every kind of space become single spaces.
    """
    visible = _CONTROL.sub(" ", text).translate(INVISIBLE)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", visible).casefold())
    return " ".join(unicodedata.normalize("NFKC", folded.casefold()).split())


def order_words(used: Iterable[str], declared: Sequence[str] = ()) -> tuple[str, ...]:
    """The distinct words in the order that the dataset declares, followed by the undeclared ones, sorted."""
    known = tuple(dict.fromkeys(declared))
    return known + tuple(sorted(set(used).difference(known)))


class Tags(NamedTuple):
    """Tags of I photos as matrices of 0 and 1."""

    objects: NDArray[Any]  # (I, K_o)
    attributes: NDArray[Any]  # (I, K_a)


def tag_matrix(items: Sequence[Tagged], vocabulary: Vocabulary) -> NDArray[np.uint8]:
    """(I, K_o + K_a) matrix of 0 and 1: which item has which tag.

    The columns are those of the vocabulary, which may be the vocabulary of a model; tags outside it have no column.
    """
    objects = {word: column for column, word in enumerate(vocabulary.objects)}
    attributes = {word: column for column, word in enumerate(vocabulary.attributes, start=len(vocabulary.objects))}
    matrix = np.zeros((len(items), len(objects) + len(attributes)), dtype=np.uint8)
    for row, item in enumerate(items):
        matrix[row, [objects[word] for word in item.objects if word in objects]] = 1
        matrix[row, [attributes[word] for word in item.attributes if word in attributes]] = 1
    return matrix
