r"""Probabilities of words in whole photos, and the regions that are evidence for them, from an index.

With p_jk the probability of word k in region j that the index stores, and O the objects that the photo is known to
have, by tags or decisions:

    w_j  = max_{o in O} p_jo / max_m p_mo          (1 without a known object)
    P(o) = max_j p_jo                              for an object o
    P(a) = max_j w_j p_ja                          for an attribute a

So an attribute must be probable in the regions where the known objects are; a shiny car does not make the horse beside
it shiny. The region of the maximum is the evidence.
"""

from typing import NamedTuple

import numpy as np

from tagsight.index.limits import hold_slot
from tagsight.index.similar import read_photo_levels
from tagsight.index.snapshot import COLUMNS, Box, Snapshot
from tagsight.predict.probabilities import to_probabilities
from tagsight.types import Array, Floats


class Evidence(NamedTuple):
    """The region of an indexed photo in which a word is most probable; `Index.labels` has its pixels."""

    photo: int  # number of the photo in the index
    region: int
    box: Box


def score_words(snapshot: Snapshot, known: Array) -> Array:
    """(n, K_o + K_a) float32 P of every photo of the index, in the order of `snapshot.photos`.

    `known` (n, K_o) bool are the objects that each photo is known to have.
    """
    n_objects = len(snapshot.manifest.objects)
    n_words = n_objects + len(snapshot.manifest.attributes)
    scores = np.zeros((len(snapshot.photos), n_words), np.float32)
    for start in range(0, n_objects, COLUMNS):
        columns = snapshot.read_tops(range(start, min(start + COLUMNS, n_objects)))
        for k, column in columns.items():
            scores[:, k] = to_probabilities(column)
    with hold_slot(snapshot.scans):
        for block in snapshot.list_blocks():
            starts, weights = _weigh_block(snapshot, block, known[block])
            for first in range(n_objects, n_words, COLUMNS):
                levels = snapshot.scan_block(block, range(first, min(first + COLUMNS, n_words))).values
                for k, column in levels.items():
                    scores[block, k] = np.maximum.reduceat(weights * to_probabilities(column), starts[:-1])
    return scores


def find_evidence(snapshot: Snapshot, photo: int, factor: int, known: Array) -> Evidence:
    """The evidence for a word in a photo by number; `known` (K_o,) bool are the objects that it is known to have."""
    levels, _ = read_photo_levels(snapshot, photo)
    n_objects = len(snapshot.manifest.objects)
    probabilities = to_probabilities(levels)
    values = probabilities[:, factor]
    if factor >= n_objects:
        starts = np.array([0, len(levels)])
        weights = np.zeros(len(levels))
        for o in np.flatnonzero(known).tolist():
            np.maximum(weights, _scale(probabilities[:, o], starts), out=weights)
        values = values * weights if known.any() else values
    region = int(values.argmax())
    return Evidence(photo, region, snapshot.describe_photos(np.array([photo]))[photo].get_box(region))


def _weigh_block(snapshot: Snapshot, block: slice, known: Array) -> tuple[Array, Floats]:
    """Where the regions of each photo of a block begin (n + 1,), and the weight w of every region."""
    _, starts, _ = snapshot.scan_block(block, [])
    sizes = np.diff(starts)
    weights = np.repeat(np.where(known.any(axis=1), 0.0, 1.0), sizes)
    objects = np.flatnonzero(known.any(axis=0)).tolist()
    for first in range(0, len(objects), COLUMNS):
        for o, column in snapshot.scan_block(block, objects[first : first + COLUMNS]).values.items():
            scaled = _scale(to_probabilities(column), starts)
            np.maximum(weights, np.where(np.repeat(known[:, o], sizes), scaled, 0.0), out=weights)
    return starts, weights


def _scale(values: Floats, starts: Array) -> Floats:
    """The values of regions divided by the maximum of their photo; 1 where the maximum is 0."""
    highest = np.repeat(np.maximum.reduceat(values, starts[:-1]), np.diff(starts))
    return np.divide(values, highest, out=np.ones_like(values), where=highest > 0)
