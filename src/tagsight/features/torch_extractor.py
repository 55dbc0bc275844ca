"""The `deep` description of many photos, network and pooling by PyTorch in batches.

Batches have one size of photo and one length: what lacks is filled with blanks. So a photo's vectors do not depend on
the photos it happens to be described with, and an interrupted run ends where an uninterrupted one does.
"""

# pyright: reportMissingImports=false

from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256

import numpy as np
import torch
from torch import Tensor

from tagsight.features.backbone import Backbone
from tagsight.features.deep import DeepSettings, list_blocks
from tagsight.features.photo_features import PhotoFeatures
from tagsight.features.prepared import PreparedPhoto
from tagsight.features.torch_network import TorchNetwork
from tagsight.features.torch_pooling import pool_maps
from tagsight.storage.files import read_bytes
from tagsight.types import Array

BATCH = 16  # longer ones are hardly faster on an H200


class TorchExtractor:
    """Describes prepared photos with the built-in network on `device`.

    Vectors are those of `DeepExtractor` but for rounding, so the fingerprint is another.
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
        """The photos described, in their order; vectors are rounded to half precision."""
        alike: dict[tuple[tuple[int, ...], ...], list[int]] = defaultdict(list)
        for index, photo in enumerate(photos):
            alike[tuple(image.shape for image in photo.images.values())].append(index)
        found: dict[int, PhotoFeatures] = {}
        for indices in alike.values():
            for first in range(0, len(indices), self._batch):
                some = indices[first : first + self._batch]
                vectors = self.extract_batch([photos[i] for i in some])
                found.update((i, self._finish(photos[i], v)) for i, v in zip(some, vectors, strict=True))
        return [found[index] for index in range(len(photos))]

    def extract_batch(self, photos: Sequence[PreparedPhoto]) -> list[Array]:
        """(R, D) float32 of each of a batch of photos of one size."""
        uses = self._settings.maps
        pooled: dict[int, Tensor] = {}
        for zoom in photos[0].images:
            mine = [number for number, use in enumerate(uses) if use.zoom == zoom]
            images = self._stack([photo.images[zoom] for photo in photos])
            maps = self._network.maps(images, [uses[number].name for number in mine])
            for number, values in zip(mine, maps, strict=True):
                pooled[number] = pool_maps(values, [photo.weights[number] for photo in photos])
        vectors = torch.cat([pooled[number] for number in range(len(uses))], dim=1).cpu().numpy()
        ends = np.cumsum([len(photo.colours) for photo in photos])[:-1]
        parts = zip(np.split(vectors, ends), photos, strict=True)
        return [np.hstack([rows, photo.colours]) for rows, photo in parts]

    def _stack(self, images: Sequence[Array]) -> Tensor:
        """(batch, 3, H, W) float32 on the device, normalised there; black beyond the images."""
        shape = (self._batch, *images[0].shape)
        stacked = torch.zeros(shape, dtype=torch.uint8, pin_memory=self._device.type == "cuda")
        np.stack(images, out=stacked[: len(images)].numpy())
        pixels = stacked.to(self._device, non_blocking=True).permute(0, 3, 1, 2)
        return pixels.to(torch.float32, memory_format=torch.contiguous_format).sub_(self._mean).div_(self._scale)

    def _finish(self, photo: PreparedPhoto, vectors: Array) -> PhotoFeatures:
        return PhotoFeatures(
            vectors.astype(np.float16), photo.labels, photo.edges, photo.boundary, photo.size, self.blocks
        )
