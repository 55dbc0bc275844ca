"""Photo batches, the photos that training loads together: all in memory, or one at a time from disk.

A photo batch is one shard of the fit. All of them are one batch of the fit, with one global step per sweep.

Both give the same results: photos are independent of each other, and sums run over blocks of photos that no batch
divides.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, overload

import numpy as np

from tagsight.engine.checkpoint import FORMAT, FitCheckpoint
from tagsight.engine.devices import ComputeTarget
from tagsight.engine.fit import FitSpec, fit_shards, fit_stored_shards
from tagsight.engine.local.shard_file import (
    FeatureFile,
    StoredShards,
    is_intact,
    load_features_into,
    save_features,
    save_shard,
)
from tagsight.errors import InputError
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.transforms import Projection, project
from tagsight.model.fit import Fit
from tagsight.model.free_factors import ICA_SAMPLE
from tagsight.model.layout import Edges, Shard, lay_out
from tagsight.model.local_step import BLOCK, add_squares
from tagsight.model.settings import plan_sticks
from tagsight.predict.predictor import Embedding, StackedRegions, embed, stack_regions
from tagsight.runtime.memory import leave_room
from tagsight.storage.records import load_record, save_record
from tagsight.types import Array, Floats, Ints

ALIGN = 4 * BLOCK  # photos; the length of a batch is a multiple of it

# Memory of the fit, in bytes:
GRAPH = 430  # per region, for edges, the layout and its computation
ICA_COPIES = 40  # per number of the sample
PER_REGION = 72
BAGS = 3  # assumed number of bags per photo: one per tagged object, and background
SPARE = 32 * 10**6


class FeatureSpace(NamedTuple):
    """The vectors that training works on."""

    embedding: Embedding  # for the model and the region classifiers
    standard: Projection  # of standardised features, for class activation maps and the photo-level prior

    @property
    def length(self) -> int:
        """D, the length of the model's vectors."""
        return self.embedding.projection.basis.shape[1]


class PhotoBatch(NamedTuple):
    """Consecutive photos with their regions, in memory at the same time."""

    photo_range: slice  # their numbers among all photos
    photos: Sequence[PhotoFeatures]
    stacked: StackedRegions


class PhotoBatches(Protocol):
    """All photos, one photo batch after the other."""

    @property
    def spill_dir(self) -> Path | None:
        """Folder for arrays that do not fit into memory; None: all of them fit."""
        ...

    def __iter__(self) -> Iterator[PhotoBatch]:
        """The batches in order; the arrays of a batch are overwritten when the next one is loaded."""
        ...

    def fit(self, spec: FitSpec, allowed: Array, *, target: ComputeTarget, checkpoint: FitCheckpoint | None) -> Fit:
        """Fit the model, with all photos as one batch, where photos allow the factors in `allowed` (I, K)."""
        ...


class StoredGraph(NamedTuple):
    """The file beside the features of a batch on disk."""

    sizes: Ints  # (I,) regions of each photo
    edges: Edges
    sha256: str  # of the features' file


class InMemoryBatches:
    """All photos in memory, as one batch."""

    spill_dir = None

    def __init__(self, photos: Sequence[PhotoFeatures], space: FeatureSpace):
        self._batch = PhotoBatch(slice(0, len(photos)), photos, stack_regions(photos, space.embedding))

    def __iter__(self) -> Iterator[PhotoBatch]:
        yield self._batch

    def fit(self, spec: FitSpec, allowed: Array, *, target: ComputeTarget, checkpoint: FitCheckpoint | None) -> Fit:
        """See `PhotoBatches`."""
        X, groups, edges = self._batch.stacked
        layout = lay_out(groups, allowed, edges, plan_sticks(spec.settings))
        shard = Shard(X, layout, add_squares(X, layout, noise=spec.settings.noise))
        return fit_shards([shard], spec, target, checkpoint)[0]


class OnDiskBatches:
    """Batches of `length` photos (a multiple of ALIGN) in `folder`; intact ones from an earlier run are reused."""

    def __init__(self, photos: Sequence[PhotoFeatures], sizes: Ints, space: FeatureSpace, folder: Path, length: int):
        self.spill_dir: Path | None = folder
        self._photos = photos
        self._folder = folder
        self._ranges = [slice(first, min(first + length, len(photos))) for first in range(0, len(photos), length)]
        n_regions = max(int(sizes[photo_range].sum()) for photo_range in self._ranges)
        self._buffer = np.empty(4 * n_regions * space.length, np.uint8)
        for b, photo_range in enumerate(self._ranges):
            if not self._is_stored(b):
                self._store(b, photos[photo_range], sizes[photo_range], space)

    def __iter__(self) -> Iterator[PhotoBatch]:
        for b, photo_range in enumerate(self._ranges):
            yield PhotoBatch(photo_range, self._photos[photo_range], self._load(b)[0])

    def fit(self, spec: FitSpec, allowed: Array, *, target: ComputeTarget, checkpoint: FitCheckpoint | None) -> Fit:
        """See `PhotoBatches`; always on this machine's processors."""
        shards = self._folder / "shards"
        plan, folders = plan_sticks(spec.settings), list[Path]()
        square: float | Floats = 0.0
        for b, photo_range in enumerate(self._ranges):
            (X, groups, edges), features = self._load(b)
            layout = lay_out(groups, allowed[photo_range], edges, plan)
            square = add_squares(X, layout, square, noise=spec.settings.noise)
            folders.append(shards / str(b))
            save_shard(Shard(X, layout), folders[-1], features=features)
        local = self._folder / "local"
        fit = fit_stored_shards(StoredShards(folders, self._buffer), square, local, spec, checkpoint=checkpoint)
        shutil.rmtree(shards)
        shutil.rmtree(local)
        return fit

    def _store(self, b: int, photos: Sequence[PhotoFeatures], sizes: Ints, space: FeatureSpace) -> None:
        """Embed the photos one by one into the buffer and write it; the graph file is written last."""
        X = self._buffer[: 4 * sizes.sum() * space.length].view(np.float32).reshape(-1, space.length)
        first, pairs, weights = 0, list[Array](), list[Floats]()
        for photo in photos:
            X[first : first + len(photo.features)] = embed(photo.features, space.embedding)
            pairs.append(photo.edges.astype(np.int64) + first)
            weights.append(photo.edge_weights)
            first += len(photo.features)
        features = save_features(X, self._features(b))
        edges = Edges(np.concatenate(pairs), np.concatenate(weights))
        save_record(StoredGraph(sizes, edges, features.sha256), self._graph(b), FORMAT)

    def _is_stored(self, b: int) -> bool:
        """Whether both files of the batch are complete and undamaged."""
        try:
            graph = load_record(StoredGraph, self._graph(b), FORMAT)
        except InputError:
            return False
        return is_intact(FeatureFile(self._features(b), graph.sha256))

    def _load(self, b: int) -> tuple[StackedRegions, FeatureFile]:
        sizes, edges, digest = load_record(StoredGraph, self._graph(b), FORMAT)
        features = FeatureFile(self._features(b), digest)
        X = load_features_into(features.path, self._buffer)
        return StackedRegions(X, np.repeat(np.arange(len(sizes)), sizes), edges), features

    def _features(self, b: int) -> Path:
        return self._folder / f"{b}.npy"

    def _graph(self, b: int) -> Path:
        return self._folder / f"{b}.graph"


class BatchRows:
    """The vectors (N, D) of all regions, in blocks of ALIGN photos (see `classifiers.rows.BlockedRows`)."""

    def __init__(self, batches: PhotoBatches, n_regions: int, length: int):
        self._batches = batches
        self.shape = (n_regions, length)

    def blocks(self) -> Iterator[Array]:
        """The vectors of ALIGN photos at a time."""
        for batch in self._batches:
            X, groups, _ = batch.stacked
            ends = np.searchsorted(groups, np.arange(ALIGN, len(batch.photos), ALIGN))
            yield from np.split(X, ends)


def standardise_blocks(batches: PhotoBatches, standard: Projection) -> Iterator[Array]:
    """The features of all regions projected by `standard`, in blocks of ALIGN photos."""
    for batch in batches:
        for first in range(0, len(batch.photos), ALIGN):
            photos = batch.photos[first : first + ALIGN]
            yield np.concatenate([project(photo.features.astype(np.float32), standard) for photo in photos])


class Subset(Sequence[PhotoFeatures]):
    """The photos with the given numbers; each is loaded when it is indexed."""

    def __init__(self, photos: Sequence[PhotoFeatures], numbers: Ints):
        self._photos = photos
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> PhotoFeatures: ...

    @overload
    def __getitem__(self, index: slice) -> "Subset": ...

    def __getitem__(self, index: int | slice) -> "PhotoFeatures | Subset":
        if isinstance(index, slice):
            return Subset(self._photos, self._numbers[index])
        return self._photos[int(self._numbers[index])]


def plan_length(limit: int, sizes: Ints, allowed: Array, D: int) -> int:
    """The number of photos per batch with which this process stays within `limit` bytes of memory.

    A photo of a batch needs memory for its vectors, for its graph while the layout is computed, for its posterior four
    times (old and new, and the bytes of both files), and for nu and log-odds of all K factors during inference. Not
    proportional to the batch are the sample for proposals of free factors and the copies that ICA makes of it, and, for
    the region classifiers, a few numbers per region of all photos and the targets of all bags.
    """
    K = allowed.shape[1]
    regions, active = float(sizes.mean()), float(allowed.sum(axis=1).mean())
    photo = regions * (4 * D + GRAPH + 16 * active + 12 * K) + 96 * K
    fixed = ICA_SAMPLE * (D + K) * ICA_COPIES + PER_REGION * int(sizes.sum()) + 4 * BAGS * K * len(sizes) + SPARE
    least = int(photo * ALIGN)
    left = leave_room(limit, fixed + least, f"training on {len(sizes)} photos")
    return ALIGN * (1 + int(left / (photo * ALIGN)))
