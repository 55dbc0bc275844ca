"""Time of `deep` feature extraction compared with the forward pass of the network alone, on one core.

    python benchmarks/extraction.py --data DIR

For each photo and input size, in turn: the forward passes on the resized pixels (one for each zoom of the settings),
then the whole extraction (resize, normalise, forward passes, pooling, colour) with a grid of 80 cells as regions. The
two alternate photo by photo, so that other load on the machine affects both alike. Results are medians over photos.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import cv2
import numpy as np

from record import write_result
from tagsight.features.backbone import Backbone
from tagsight.features.efficientnet import open_builtin
from tagsight.features.extractor import DEFAULTS, NETWORKS, extract_regions
from tagsight.features.pooling import compute_cell_weights, compute_colour_histograms, pool_map
from tagsight.types import Array

PHOTOS = Path("apascal/VOCdevkit/VOC2008/JPEGImages")
SIZES = (512, 640)


def main() -> None:
    arguments = parse_arguments()
    pin_to_one_core()
    photos = read_photos(arguments.data / PHOTOS, arguments.photos)
    write_result(
        "extraction",
        {
            "features": "deep",
            "cores_used": 1,
            "photos": len(photos),
            "regions": 80,
            "maps": DEFAULTS.maps,
            "sizes": {size: measure(open_builtin(NETWORKS["deep"], size=size), photos) for size in SIZES},
        },
    )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = os.environ.get("TAGSIGHT_DATA")
    parser.add_argument("--data", type=Path, default=data, required=data is None, help="folder with apascal/")
    parser.add_argument("--photos", type=int, default=60, help="number of photos")
    return parser.parse_args()


def pin_to_one_core() -> None:
    cv2.setNumThreads(1)
    if sys.platform == "linux":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def read_photos(folder: Path, count: int) -> list[Array]:
    paths = sorted(folder.glob("*.jpg"))
    if not paths:
        raise SystemExit(f"no photos in {folder}; give --data the folder that holds apascal/")
    chosen = paths[:: max(1, len(paths) // count)][:count]
    return [np.asarray(cv2.imread(str(path), cv2.IMREAD_COLOR_RGB)) for path in chosen]


def make_grid(height: int, width: int, *, rows: int = 8, columns: int = 10) -> Array:
    """Labels (height, width) of a grid of rows x columns regions."""
    down, across = np.arange(height) * rows // height, np.arange(width) * columns // width
    return (down[:, None] * columns + across).astype(np.int32)


def measure(backbone: Backbone, photos: list[Array]) -> dict[str, Any]:
    """Medians in milliseconds; the first photo is a warm-up and not counted."""
    forward, whole = [], []
    stages: dict[str, list[float]] = {"resize_and_normalise": [], "pooling": [], "colour": []}
    names = {zoom: tuple(use.name for use in DEFAULTS.maps if use.zoom == zoom) for _, _, _, zoom in DEFAULTS.maps}
    for photo in photos[:1] + photos:
        labels = make_grid(*photo.shape[:2])
        tensors, resizing = clock(lambda p=photo: {zoom: backbone.prepare(p, zoom=zoom) for zoom in names})
        maps, elapsed = clock(lambda t=tensors: [m for zoom in names for m in backbone.forward(t[zoom], names[zoom])])
        forward.append(elapsed)
        whole.append(clock(lambda p=photo, r=labels: extract_regions(p, r, backbone))[1])
        stages["resize_and_normalise"].append(resizing)
        stages["pooling"].append(clock(lambda m=maps, r=labels: pool(m, r))[1])
        stages["colour"].append(clock(lambda p=photo, r=labels: compute_colour_histograms(p, r))[1])
    forward_ms, whole_ms = median(forward[1:]), median(whole[1:])
    return {
        "forward_ms": round(forward_ms, 2),
        "description_ms": round(whole_ms, 2),
        "overhead_ms": round(whole_ms - forward_ms, 2),
        "speed_ratio": round(median(f / w for f, w in zip(forward[1:], whole[1:], strict=True)), 3),
        "stages_ms": {name: round(median(times[1:]), 2) for name, times in stages.items()},
    }


def pool(maps: list[Array], labels: Array) -> list[Array]:
    return [pool_map(values, compute_cell_weights(labels, *values.shape[:2])) for values in maps]


def clock(call: Callable[[], Any]) -> tuple[Any, float]:
    """The result of the call, and its time in milliseconds."""
    start = time.perf_counter()
    result = call()
    return result, 1e3 * (time.perf_counter() - start)


if __name__ == "__main__":
    main()
