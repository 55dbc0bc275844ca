"""Photos as the model takes them: all in memory, or in runs on disk of which one at a time is in memory.

Whoever goes through runs gets the same numbers either way: photos do not depend on each other, and sums run over blocks
of photos that no run divides.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, overload

import numpy as np
from safetensors import SafetensorError

from tagsight.engine.checkpoint import FitCheckpoint
from tagsight.engine.devices import ComputeTarget
from tagsight.engine.fit import FitSpec, fit_shards, fit_stored_shards
from tagsight.engine.shard_file import FeatureFile, is_intact, load_features_into, save_features, save_shard
from tagsight.engine.stored_shards import StoredShards
from tagsight.features.codebook import Projection, project
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.views import Views
from tagsight.model.fit import Fit
from tagsight.model.layout import Edges, Shard, lay_out
from tagsight.model.local_step import BLOCK, add_squares
from tagsight.model.proposals import SAMPLE
from tagsight.model.settings import plan_sticks
from tagsight.predict.predictor import StackedRegions, embed, stack_regions
from tagsight.runtime.memory import leave_room
from tagsight.storage.tensor_file import load_tensors, read_tensors, save_tensors
from tagsight.types import Array, Floats, Ints

ALIGN = 4 * BLOCK  # photos; a run has a multiple of it
GRAPH = 430  # bytes a region, of edges, of the layout and on the way to it
ICA_COPIES = 40  # bytes a number of the sample
PER_REGION = 72  # bytes
BAGS = 3  # objects of a photo, background among them
SPARE = 32 * 10**6  # bytes


class FeatureSpace(NamedTuple):
    """How a region's vector becomes the model's."""

    views: Views
    projection: Projection  # of directions
    standard: Projection  # of vectors as they were described: what class activation sees

    @property
    def length(self) -> int:
        """D of the model."""
        return self.projection.basis.shape[1]


class PhotoBatch(NamedTuple):
    """Some photos in a row."""

    here: slice  # among all photos
    photos: Sequence[PhotoFeatures]
    stacked: StackedRegions


class PhotoBatches(Protocol):
    """All photos, run after run."""

    @property
    def spill_dir(self) -> Path | None:
        """Where others may put what memory has no room for; None: it has."""
        ...

    def __iter__(self) -> Iterator[PhotoBatch]:
        """A run is gone when the next is asked for."""
        ...

    def learn(self, spec: FitSpec, allowed: Array, *, target: ComputeTarget, checkpoint: FitCheckpoint | None) -> Fit:
        """Fit the model, with one global step a sweep, where photos allow the factors `allowed` (I, K)."""
        ...


class InMemoryBatches:
    """All photos in memory, as one run."""

    spill_dir = None

    def __init__(self, photos: Sequence[PhotoFeatures], space: FeatureSpace):
        self._run = PhotoBatch(slice(0, len(photos)), photos, stack_regions(photos, space.views, space.projection))

    def __iter__(self) -> Iterator[PhotoBatch]:
        yield self._run

    def learn(self, spec: FitSpec, allowed: Array, *, target: ComputeTarget, checkpoint: FitCheckpoint | None) -> Fit:
        """See `PhotoBatches`."""
        X, groups, edges = self._run.stacked
        layout = lay_out(groups, allowed, edges, plan_sticks(spec.settings))
        shard = Shard(X, layout, add_squares(X, layout, noise=spec.settings.noise))
        return fit_shards([shard], spec, target, checkpoint)[0]


class OnDiskBatches:
    """Photos in runs of `length` (a multiple of ALIGN) on disk in `folder`; intact ones there are not made again."""

    def __init__(self, photos: Sequence[PhotoFeatures], sizes: Ints, space: FeatureSpace, folder: Path, length: int):
        self.spill_dir: Path | None = folder
        self._photos = photos
        self._folder = folder
        self._runs = [slice(first, min(first + length, len(photos))) for first in range(0, len(photos), length)]
        most = max(int(sizes[here].sum()) for here in self._runs)
        self._buffer = np.empty(4 * most * space.length, np.uint8)
        for r, here in enumerate(self._runs):
            if not self._is_stored(r):
                self._store(r, photos[here], sizes[here], space)

    def __iter__(self) -> Iterator[PhotoBatch]:
        for r, here in enumerate(self._runs):
            yield PhotoBatch(here, self._photos[here], self._load(r)[0])

    def learn(self, spec: FitSpec, allowed: Array, *, target: ComputeTarget, checkpoint: FitCheckpoint | None) -> Fit:
        """See `PhotoBatches`; on this machine's processors."""
        shards = self._folder / "shards"
        plan, folders = plan_sticks(spec.settings), list[Path]()
        square: float | Floats = 0.0
        for r, here in enumerate(self._runs):
            (X, groups, edges), features = self._load(r)
            layout = lay_out(groups, allowed[here], edges, plan)
            square = add_squares(X, layout, square, noise=spec.settings.noise)
            folders.append(shards / str(r))
            save_shard(Shard(X, layout), folders[-1], features=features)
        local = self._folder / "local"
        fit = fit_stored_shards(StoredShards(folders, self._buffer), square, local, spec, checkpoint=checkpoint)
        shutil.rmtree(shards)
        shutil.rmtree(local)
        return fit

    def _store(self, r: int, photos: Sequence[PhotoFeatures], sizes: Ints, space: FeatureSpace) -> None:
        """Project photo by photo into the buffer, and write it; the graph, written last, says that all is there."""
        X = self._buffer[: 4 * sizes.sum() * space.length].view(np.float32).reshape(-1, space.length)
        first, pairs, weights = 0, list[Array](), list[Floats]()
        for photo in photos:
            X[first : first + len(photo.features)] = embed(photo.features, space.views, space.projection)
            pairs.append(photo.edges.astype(np.int64) + first)
            weights.append(photo.edge_weights)
            first += len(photo.features)
        features = save_features(X, self._features(r))
        graph = {"sizes": sizes, "pairs": np.concatenate(pairs), "weight": np.concatenate(weights)}
        save_tensors(self._graph(r), {"features": features.sha256}, graph)

    def _is_stored(self, r: int) -> bool:
        """Whether both files of the run are as they were written; those of a killed or damaged run are not."""
        try:
            header, _, intact = read_tensors(self._graph(r))
        except (OSError, SafetensorError):
            return False
        return intact and header is not None and is_intact(FeatureFile(self._features(r), header["features"]))

    def _load(self, r: int) -> tuple[StackedRegions, FeatureFile]:
        header, graph = load_tensors(self._graph(r))
        sizes, pairs, weight = (graph[name] for name in ("sizes", "pairs", "weight"))
        features = FeatureFile(self._features(r), header["features"])
        X = load_features_into(features.path, self._buffer)
        return StackedRegions(X, np.repeat(np.arange(len(sizes)), sizes), Edges(pairs, weight)), features

    def _features(self, r: int) -> Path:
        return self._folder / f"{r}.npy"

    def _graph(self, r: int) -> Path:
        return self._folder / f"{r}.graph"


class BatchRows:
    """The vectors of all regions, in blocks of ALIGN photos (see `classifiers.rows.Rows`)."""

    def __init__(self, batches: PhotoBatches, n_regions: int, length: int):
        self._runs = batches
        self.shape = (n_regions, length)

    def blocks(self) -> Iterator[Array]:
        """Regions of ALIGN photos after ALIGN photos."""
        for batch in self._runs:
            X, groups, _ = batch.stacked
            ends = np.searchsorted(groups, np.arange(ALIGN, len(batch.photos), ALIGN))
            yield from np.split(X, ends)


def standardise_blocks(batches: PhotoBatches, standard: Projection) -> Iterator[Array]:
    """Vectors of all regions projected by `standard`, in blocks of ALIGN photos."""
    for batch in batches:
        for first in range(0, len(batch.photos), ALIGN):
            photos = batch.photos[first : first + ALIGN]
            yield np.concatenate([project(photo.features.astype(np.float32), standard) for photo in photos])


class Subset(Sequence[PhotoFeatures]):
    """Some of the photos, by number, none of which is looked at before it is asked for."""

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
        return self._photos[self._numbers[index]]


def plan_length(budget: int, sizes: Ints, allowed: Array, D: int) -> int:
    """How many photos a run may have for this process to stay within a budget of bytes.

    A photo takes its vectors, its graph while it is laid out, its posterior four times (old, new, and as the bytes of
    either file), and nu and log-odds of all K factors when it is inferred. Beside the runs there are the sample for
    renewal, in the copies that ICA makes of it, and for the readers a few numbers for each region and what each located
    object is like.
    """
    K = allowed.shape[1]
    regions, active = float(sizes.mean()), float(allowed.sum(axis=1).mean())
    photo = regions * (4 * D + GRAPH + 16 * active + 12 * K) + 96 * K
    beside = SAMPLE * (D + K) * ICA_COPIES + PER_REGION * int(sizes.sum()) + 4 * BAGS * K * len(sizes) + SPARE
    least = int(photo * ALIGN)
    left = leave_room(budget, beside + least, f"training on {len(sizes)} photos")
    return ALIGN * (1 + int(left / (photo * ALIGN)))
