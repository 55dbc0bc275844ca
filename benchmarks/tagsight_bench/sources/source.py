"""A collection with all that is known of its photos: what every source gives."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.data.vocabulary import Vocabulary

SHARE = 0.5  # of the training photos, to validate on
SPLIT_SEED = 0  # the same split for every seed of a method


class TrueBox(NamedTuple):
    """An annotated object."""

    objects: tuple[str]  # its class
    attributes: tuple[str, ...]
    box: tuple[int, int, int, int]  # x0 y0 x1 y1 in the whole photo, the end exclusive


class TruePhoto(NamedTuple):
    """A photo, its tags and what stands behind them."""

    path: Path
    objects: tuple[str, ...]
    attributes: tuple[str, ...]
    boxes: tuple[TrueBox, ...] = ()
    mask: Path | None = None


class Source(NamedTuple):
    """Photos to learn from and photos to be judged on."""

    vocabulary: Vocabulary  # with every attribute
    attribute_sets: dict[int, tuple[str, ...]]  # by size
    learn: tuple[TruePhoto, ...]
    judge: tuple[TruePhoto, ...]
    void: int  # in files of masks: the value of pixels that do not count


def hold_out(source: Source) -> Source:
    """The training photos alone, split by a fixed seed: the photos to be judged on are never touched."""
    order = np.random.default_rng(SPLIT_SEED).permutation(len(source.learn))
    cut = round(SHARE * len(order))
    judge, learn = (tuple(source.learn[i] for i in np.sort(part)) for part in (order[:cut], order[cut:]))
    return source._replace(learn=learn, judge=judge)
