"""A collection with its ground truth, as every source returns it."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.data.vocabulary import Vocabulary

SHARE = 0.5  # of the training photos, for validation
SPLIT_SEED = 0  # the same split for every seed of a method


class TrueBox(NamedTuple):
    """An annotated object."""

    objects: tuple[str]  # its class
    attributes: tuple[str, ...]
    box: tuple[int, int, int, int]  # x0 y0 x1 y1 in the whole photo, the end exclusive


class TruePhoto(NamedTuple):
    """A photo, its tags and its ground truth."""

    path: Path
    objects: tuple[str, ...]
    attributes: tuple[str, ...]
    boxes: tuple[TrueBox, ...] = ()
    mask: Path | None = None


class Source(NamedTuple):
    """Training photos and test photos."""

    vocabulary: Vocabulary  # with every attribute
    attribute_sets: dict[int, tuple[str, ...]]  # by size
    train: tuple[TruePhoto, ...]
    test: tuple[TruePhoto, ...]
    void: int  # value of unlabelled pixels in mask files


def split_for_validation(source: Source) -> Source:
    """The training photos, split into training and validation photos by a fixed seed; test photos are dropped."""
    order = np.random.default_rng(SPLIT_SEED).permutation(len(source.train))
    cut = round(SHARE * len(order))
    test, train = (tuple(source.train[i] for i in np.sort(part)) for part in (order[:cut], order[cut:]))
    return source._replace(train=train, test=test)
