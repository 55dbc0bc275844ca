"""Descriptions of many photos with the network on a GPU: the processors cut photos and prepare them ahead of it."""

# pyright: reportMissingImports=false

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import torch

from tagsight.data.collection import Problem
from tagsight.features.cache import FeatureCache
from tagsight.features.deep import DEFAULTS
from tagsight.features.efficientnet import open_builtin
from tagsight.features.preparation import Awaiting, prepare_all
from tagsight.features.torch_extractor import BATCH, TorchExtractor

WINDOW = 4 * BATCH  # photos that are sorted by size into batches


def open_torch_extractor(network: str, device: str) -> TorchExtractor:
    """A built-in network on a device of PyTorch's, with default settings."""
    return TorchExtractor(open_builtin(network), DEFAULTS, torch.device(device))


def extract_on_gpu(
    photos: Sequence[Path], network: str, extractor: TorchExtractor, cache: FeatureCache, n_regions: int, n_workers: int
) -> Iterator[Path | Problem]:
    """Where each photo's entry of the cache is, made if it is not there; or what is wrong with the photo."""
    prepared = prepare_all(photos, network, cache, n_regions, n_workers)
    while window := list(islice(prepared, WINDOW)):
        awaiting = [found for found in window if isinstance(found, Awaiting)]
        described = extractor.extract([found.photo for found in awaiting])
        for (place, _), photo in zip(awaiting, described, strict=True):
            cache.store(place, photo)
        yield from (found.place if isinstance(found, Awaiting) else found for found in window)
