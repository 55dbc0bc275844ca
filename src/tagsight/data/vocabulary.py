"""The words of a collection: how a tag is spelt, in what order tags are columns, who has which."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

# Shown as nothing, so two tags that differ by one of these look the same.
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

KINDS = {"object": "object", "noun": "object", "attribute": "attribute", "adjective": "attribute"}
"""How a file may name the kind of a tag."""


class Tagged(Protocol):
    """Anything with object and attribute tags: a photo, a box."""

    @property
    def objects(self) -> tuple[str, ...]:
        """Its nouns."""
        ...

    @property
    def attributes(self) -> tuple[str, ...]:
        """Its adjectives."""
        ...


class Vocabulary(NamedTuple):
    """The tags in column order: objects first, then attributes."""

    objects: tuple[str, ...]
    attributes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Every tag, one a column."""
        return self.objects + self.attributes


def normalise_tag(text: str) -> str:
    """Spell a tag the one way it is compared and shown; the result may be empty.

    Unicode's compatibility caseless form, NFKC(fold(NFKC(fold(NFD(text))))): one folding is not enough, since
    NFKC can bring capitals back. Control characters and every kind of space become single spaces.
    """
    visible = _CONTROL.sub(" ", text).translate(_INVISIBLE)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", visible).casefold())
    return " ".join(unicodedata.normalize("NFKC", folded.casefold()).split())


def order_words(used: Iterable[str], declared: Sequence[str] = ()) -> tuple[str, ...]:
    """Put words in the order the dataset declares, each once; those it does not declare follow, sorted."""
    known = tuple(dict.fromkeys(declared))
    return known + tuple(sorted(set(used).difference(known)))


class Tags(NamedTuple):
    """Tags of items, 0 or 1."""

    objects: NDArray[Any]  # (I, K_o)
    attributes: NDArray[Any]  # (I, K_a)


def tag_matrix(items: Sequence[Tagged], vocabulary: Vocabulary) -> NDArray[np.uint8]:
    """Tell which tag is on which item, (I, K_o + K_a) of 0 and 1.

    The vocabulary decides the columns, so that photos to be judged can be read in a model's vocabulary: a tag
    outside it has no column.
    """
    objects = {word: column for column, word in enumerate(vocabulary.objects)}
    attributes = {word: column for column, word in enumerate(vocabulary.attributes, start=len(vocabulary.objects))}
    matrix = np.zeros((len(items), len(objects) + len(attributes)), dtype=np.uint8)
    for row, item in enumerate(items):
        matrix[row, [objects[word] for word in item.objects if word in objects]] = 1
        matrix[row, [attributes[word] for word in item.attributes if word in attributes]] = 1
    return matrix
