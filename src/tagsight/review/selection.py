r"""Photos that represent a collection: typical and diverse ones first.

With c_is the similarity of photos i and s, T the photos that are tagged already, and a weight v_s for each photo, the
selection S maximises the facility location function

    f(S) = sum_s v_s max_{i in S or T} c_is

greedily, which is within 1 - 1/e of the optimum (Nemhauser, Wolsey and Fisher, 1978). Equal weights choose typical
photos that differ from each other and from T. With the uncertainty of photos as weights, the selection represents the
uncertain ones (Wei, Iyer and Bilmes, Submodularity in data subset selection and active learning, ICML 2015). The sum
runs over a sample of SAMPLE photos in larger collections.
"""

from collections.abc import Iterable
from heapq import heapify, heappop, heapreplace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagsight.features.extract import extract
from tagsight.features.extractor import ExtractorConfig, pin_extractor
from tagsight.features.photo_features import PhotoFeatures
from tagsight.index.snapshot import COLUMNS, Snapshot
from tagsight.predict.probabilities import to_probabilities
from tagsight.runtime.blas import one_blas_thread
from tagsight.runtime.interrupts import check_stop
from tagsight.runtime.progress import Report
from tagsight.types import Array, Floats, Ints

SAMPLE = 2048  # photos that the objective sums over
BLOCK = 4096  # photos whose similarities are in memory at the same time
DIMENSIONS = 64  # of photo vectors, at most


class Chosen(NamedTuple):
    """A chosen photo, and what it adds to the objective, relative to the maximum of the objective."""

    photo: int
    gain: float


@one_blas_thread()
def choose_representatives(vectors: Array, weights: Array, *, done: Array, candidates: Array, top: int) -> list[Chosen]:
    """The first `top` photos of the greedy maximisation of f; equal gains are in the order of the photos.

    `vectors` (n, D) are of unit length or zero, `weights` (n,) are v, `done` (n,) bool is T. Only photos where
    `candidates` (n,) bool is true are chosen.
    """
    sample = _choose_sample(len(vectors))
    reference, v = vectors[sample].astype(np.float64), weights[sample].astype(np.float64)
    covered = np.zeros(len(sample))
    for rows in _list_blocks(np.flatnonzero(done)):
        np.maximum(covered, _compare(vectors[rows], reference).max(axis=0), out=covered)
    numbers = np.flatnonzero(candidates)
    gains = [np.maximum(_compare(vectors[rows], reference) - covered, 0.0) @ v for rows in _list_blocks(numbers)]
    queue = [
        (-gain, i, 0) for gain, i in zip(np.concatenate([np.zeros(0), *gains]).tolist(), numbers.tolist(), strict=True)
    ]
    heapify(queue)
    total = float(v.sum()) or 1.0
    chosen: list[Chosen] = []
    while queue and len(chosen) < top:  # gains only decrease, so a recent gain at the top of the heap is the maximum
        minus, i, step = queue[0]
        similarity = _compare(vectors[i : i + 1], reference)[0]
        if step == len(chosen):
            heappop(queue)
            chosen.append(Chosen(i, -minus / total))
            np.maximum(covered, similarity, out=covered)
        else:
            heapreplace(queue, (-float(np.maximum(similarity - covered, 0.0) @ v), i, len(chosen)))
    return chosen


def read_photo_vectors(snapshot: Snapshot, places: Ints) -> Array:
    """(n, K) float32 vectors of unit length of the photos at some places of an index; zero where the place is -1.

    They are the highest probabilities of all factors in each photo, minus their means.
    """
    n_factors = len(snapshot.manifest.factor_names)
    inside = np.flatnonzero(places >= 0)
    vectors = np.zeros((len(places), n_factors), np.float32)
    for start in range(0, n_factors, COLUMNS):
        columns = snapshot.read_tops(range(start, min(start + COLUMNS, n_factors)))
        for k, column in columns.items():
            vectors[inside, k] = to_probabilities(column[places[inside]])
    vectors[inside] = _centre(vectors[inside])
    return vectors


def extract_photo_vectors(paths: list[Path], report: Report) -> Array:
    """(n, D) float32 vectors of unit length of photos without an index; zero for photos that cannot be read.

    They are the mean features of the regions, without the mean over the photos, on their first principal components.
    The features are those of `tagsight train` and are cached.
    """
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        report("extracting features", done, len(paths))

    extraction = extract(paths, pin_extractor(ExtractorConfig("deep")), on_photo=count)
    vectors = np.zeros((len(paths), DIMENSIONS), np.float32)
    if not extraction.photos:
        return vectors
    sample: list[int] = _choose_sample(len(extraction.photos)).tolist()
    means = np.stack([_average(extraction.cached[i]) for i in sample])
    centre = means.mean(axis=0)
    axes = np.linalg.svd(means - centre, full_matrices=False)[2][:DIMENSIONS]
    projected = np.zeros((len(extraction.photos), DIMENSIONS), np.float32)
    projected[:, : len(axes)] = _project(extraction.load(), centre, axes)
    rows = {path: row for row, path in enumerate(paths)}
    vectors[[rows[path] for path in extraction.photos]] = _scale(projected)
    return vectors


def _average(photo: PhotoFeatures) -> Floats:
    """(D,) the mean of the regions' features, each at unit length."""
    features = photo.features.astype(np.float64)
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    return (features / np.maximum(lengths, np.finfo(np.float64).tiny)).mean(axis=0)


def _project(photos: Iterable[PhotoFeatures], centre: Floats, axes: Floats) -> Array:
    return np.stack([axes @ (_average(photo) - centre) for photo in photos])


def _centre(vectors: Array) -> Array:
    return _scale(vectors - vectors.mean(axis=0)) if len(vectors) else vectors


def _scale(vectors: Array) -> Array:
    """The vectors at unit length; those that are nearly zero become zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 1e-6)


def _compare(vectors: Array, reference: Floats) -> Floats:
    """(n, m) similarities: the cosine, or 0 where it is negative."""
    return np.maximum(vectors.astype(np.float64) @ reference.T, 0.0)


def _choose_sample(n: int) -> Ints:
    """At most SAMPLE of n photos, ascending; the same on every call."""
    return np.sort(np.random.default_rng(0).permutation(n)[:SAMPLE])


def _list_blocks(rows: Ints) -> Iterable[Ints]:
    for start in range(0, len(rows), BLOCK):
        check_stop()
        yield rows[start : start + BLOCK]
