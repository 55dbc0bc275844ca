"""The built-in network and its pooling on a GPU: photos per second by batch length, and agreement; part of `gpu.py`.

Photos are noise of 500 x 375 pixels, which are resized to 640 x 480 and, for the last map, to 384 x 288; regions are a
grid of 80 cells.
"""

from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from extraction import clock, make_grid
from gpu_setting import GPU, time_on_gpu
from tagsight.features.backbone import Backbone
from tagsight.features.efficientnet import open_builtin
from tagsight.features.extractor import DEFAULTS, NETWORKS, extract_regions
from tagsight.features.pooling import compute_colour_histograms
from tagsight.features.prepared import PreparedPhoto, weigh_maps
from tagsight.features.torch_extractor import TorchExtractor
from tagsight.types import Array

BATCHES = (1, 4, 8, 16, 32, 64)
HEIGHT, WIDTH = 375, 500


def measure_network(repeats: int) -> dict[str, Any]:
    backbone = open_builtin(NETWORKS["deep"])
    labels = make_grid(HEIGHT, WIDTH)
    pixels = np.random.default_rng(0).integers(0, 256, (4, HEIGHT // 5, WIDTH // 5, 3)).astype(np.uint8)
    pixels = pixels.repeat(5, axis=1).repeat(5, axis=2)
    prepared = [prepare(photo, labels, backbone) for photo in pixels]
    on_gpu = TorchExtractor(backbone, DEFAULTS, GPU, batch=4).extract_batch(prepared)
    on_cpu = [extract_regions(photo, labels, backbone) for photo in pixels]
    found: dict[str, Any] = {
        "features": "deep",
        "regions_per_photo": 80,
        **differences(np.vstack(on_gpu), np.vstack(on_cpu)),
    }
    found["batches"] = {n: measure_batch(backbone, [prepared[i % 4] for i in range(n)], repeats) for n in BATCHES}
    return found


def prepare(pixels: Array, labels: Array, backbone: Backbone) -> PreparedPhoto:
    """As `features.prepared.prepare_photo`, with regions given."""
    images = {use.zoom: backbone.resize(pixels, zoom=use.zoom) for use in DEFAULTS.maps}
    weights = weigh_maps(labels, images, DEFAULTS)
    nothing = np.zeros(0, np.int32)
    colours = np.sqrt(compute_colour_histograms(pixels, labels))
    return PreparedPhoto(images, weights, colours, labels, nothing, nothing, (WIDTH, HEIGHT))


def differences(vectors: Array, reference: Array) -> dict[str, float]:
    """Differences of vectors before and after rounding to half precision."""
    return {
        "largest_difference": float(np.abs(vectors - reference).max()),
        "largest_value": float(np.abs(reference).max()),
        "same_in_half_precision": float(np.mean(vectors.astype(np.float16) == reference.astype(np.float16))),
    }


def measure_batch(backbone: Backbone, photos: list[PreparedPhoto], repeats: int) -> dict[str, float]:
    """Photos per second: in all (arrays to the GPU, network, pooling, vectors back), and of the network alone."""
    extractor = TorchExtractor(backbone, DEFAULTS, GPU, batch=len(photos))
    extractor.extract_batch(photos)
    milliseconds = sorted(clock(lambda: extractor.extract_batch(photos))[1] for _ in range(repeats))
    images = {zoom: extractor._stack([photo.images[zoom] for photo in photos]) for zoom in photos[0].images}
    names = {zoom: [use.name for use in DEFAULTS.maps if use.zoom == zoom] for zoom in images}

    def network_only() -> None:
        for zoom in images:
            extractor._network.maps(images[zoom], names[zoom])

    with FlopCounterMode(display=False) as counted:
        network_only()
    network_s = time_on_gpu(network_only, repeats)
    torch.cuda.empty_cache()
    return {
        "photos_per_s": 1e3 * len(photos) / milliseconds[len(milliseconds) // 2],
        "network_photos_per_s": len(photos) / network_s,
        "network_flop_per_s": counted.get_total_flops() / network_s,
    }
