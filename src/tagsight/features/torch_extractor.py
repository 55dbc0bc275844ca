"""The `deep` features of many photos by PyTorch, network and pooling in batches.

The photos of a batch have one size, and batches have one length: a shorter one is filled with blank images. So the
vectors of a photo do not depend on the other photos of its batch, and an interrupted run gives the same vectors as an
uninterrupted one.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn.functional import embedding_bag

from tagsight.data.collection import Problem
from tagsight.features.backbone import Backbone
from tagsight.features.efficientnet import open_builtin
from tagsight.features.extractor import DEFAULTS, DeepSettings, list_blocks
from tagsight.features.photo_features import FeatureCache, PhotoFeatures
from tagsight.features.prepared import PendingPhoto, PreparedPhoto, prepare_photos
from tagsight.features.torch_network import TorchNetwork
from tagsight.storage.files import read_bytes
from tagsight.types import Array

BATCH = 16  # larger batches are hardly faster on an H200
WINDOW = 4 * BATCH  # photos that are sorted by size into batches


class TorchExtractor:
    """Extracts the features of prepared photos with a built-in network on `device`.

    Vectors are those of `DeepExtractor` up to rounding, so the fingerprint differs.
    """

    def __init__(self, backbone: Backbone, settings: DeepSettings, device: torch.device, *, batch: int = BATCH):
        self._network = TorchNetwork(read_bytes(backbone.path), device)
        self._settings = settings
        self._device = device
        self._batch = batch
        self._mean, self._scale = (
            torch.tensor(values, device=device).view(3, 1, 1) for values in (backbone.mean, backbone.scale)
        )
        self.blocks = list_blocks(backbone, settings)
        known = f"deep by PyTorch {backbone.fingerprint} {settings} {self.blocks}"
        self.fingerprint = sha256(known.encode()).hexdigest()

    def extract(self, photos: Sequence[PreparedPhoto]) -> list[PhotoFeatures]:
        """The features of the photos, in their order; vectors are rounded to half precision."""
        by_size: dict[tuple[tuple[int, ...], ...], list[int]] = defaultdict(list)
        for index, photo in enumerate(photos):
            by_size[tuple(image.shape for image in photo.images.values())].append(index)
        found: dict[int, PhotoFeatures] = {}
        for indices in by_size.values():
            for first in range(0, len(indices), self._batch):
                some = indices[first : first + self._batch]
                vectors = self.extract_batch([photos[i] for i in some])
                found.update((i, self._finish(photos[i], v)) for i, v in zip(some, vectors, strict=True))
        return [found[index] for index in range(len(photos))]

    def extract_batch(self, photos: Sequence[PreparedPhoto]) -> list[Array]:
        """(R, D) float32 vectors of each of a batch of photos of one size."""
        uses = self._settings.maps
        pooled: dict[int, Tensor] = {}
        for zoom in photos[0].images:
            numbers = [number for number, use in enumerate(uses) if use.zoom == zoom]
            images = self._stack([photo.images[zoom] for photo in photos])
            maps = self._network.maps(images, [uses[number].name for number in numbers])
            for number, values in zip(numbers, maps, strict=True):
                pooled[number] = pool_maps(values, [photo.weights[number] for photo in photos])
        vectors = torch.cat([pooled[number] for number in range(len(uses))], dim=1).cpu().numpy()
        ends = np.cumsum([len(photo.colours) for photo in photos])[:-1]
        parts = zip(np.split(vectors, ends), photos, strict=True)
        return [np.hstack([rows, photo.colours]) for rows, photo in parts]

    def _stack(self, images: Sequence[Array]) -> Tensor:
        """(batch, 3, H, W) float32 on the device, normalised there; black after the last of the images."""
        shape = (self._batch, *images[0].shape)
        stacked = torch.zeros(shape, dtype=torch.uint8, pin_memory=self._device.type == "cuda")
        np.stack(images, out=stacked[: len(images)].numpy())
        pixels = stacked.to(self._device, non_blocking=True).permute(0, 3, 1, 2)
        return pixels.to(torch.float32, memory_format=torch.contiguous_format).sub_(self._mean).div_(self._scale)

    def _finish(self, photo: PreparedPhoto, vectors: Array) -> PhotoFeatures:
        return PhotoFeatures(
            vectors.astype(np.float16), photo.labels, photo.edges, photo.boundary, photo.size, self.blocks
        )


def open_torch_extractor(network: str, device: str) -> TorchExtractor:
    """A built-in network on a device of PyTorch's, with default settings."""
    return TorchExtractor(open_builtin(network), DEFAULTS, torch.device(device))


def extract_on_gpu(
    photos: Sequence[Path], network: str, extractor: TorchExtractor, cache: FeatureCache, n_regions: int, n_workers: int
) -> Iterator[Path | Problem]:
    """The cache entry of each photo, written if it is missing; or the problem of the photo.

    Worker processes prepare photos in advance of the network.
    """
    prepared = prepare_photos(photos, network, cache, n_regions, n_workers)
    while window := list(islice(prepared, WINDOW)):
        pending = [found for found in window if isinstance(found, PendingPhoto)]
        extracted = extractor.extract([found.photo for found in pending])
        for (entry, _), photo in zip(pending, extracted, strict=True):
            cache.store(entry, photo)
        yield from (found.entry if isinstance(found, PendingPhoto) else found for found in window)


def pool_maps(values: Tensor, weights: Sequence[sparse.csr_array]) -> Tensor:
    """(all regions, C): each of the maps `values` (n, C, rows, columns) averaged by its weights (R, cells).

    `weights` are those of `pooling.compute_cell_weights`; maps beyond them are ignored. Every region's mean is summed
    cell by cell, as on the CPU: it does not depend on the other photos.
    """
    cells = values[: len(weights)].permute(0, 2, 3, 1).contiguous().view(-1, values.shape[1])
    n_cells = values.shape[2] * values.shape[3]
    index = np.concatenate([w.indices + i * n_cells for i, w in enumerate(weights)], dtype=np.int64)
    lengths = np.concatenate([np.diff(w.indptr) for w in weights])
    start = np.concatenate([[0], np.cumsum(lengths)])
    share = np.concatenate([w.data for w in weights])
    index, start, share = (torch.from_numpy(array).to(values.device) for array in (index, start, share))
    return embedding_bag(index, cells, start, mode="sum", per_sample_weights=share, include_last_offset=True)
