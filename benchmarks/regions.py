"""Quality and speed of the regions: the best-label ceiling and the time of each stage.

For the ceiling, every region gets the true label that most of its pixels have, without void; the confusion is pooled
over all photos of a split, and mIoU is the mean over the 21 classes. No other labelling of the regions has more correct
pixels. A grid of 10 x 8 rectangles is the baseline.

Times are processor times, which other load on the machine changes little.

    python benchmarks/regions.py --data DIR
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from PIL import Image

from record import write_result
from tagsight.data.photo import read_photo
from tagsight.demo.mask_measures import VOID
from tagsight.regions import cut_hierarchy, measure_adjacency, measure_contour, segment_photo
from tagsight.types import Array
from tagsight_bench.evaluation.mask_measures import mean_iou

CLASSES = 21


class Sample(NamedTuple):
    """A photo and its true mask."""

    path: Path
    truth: Array  # (h, w) uint8, VOID where not labelled


def list_samples(data: Path, split: str) -> list[Sample]:
    root = data / "apascal" / "VOCdevkit" / "VOC2008"
    names = (root / "ImageSets" / "Segmentation" / f"{split}.txt").read_text().split()
    return [
        Sample(
            root / "JPEGImages" / f"{name}.jpg",
            np.asarray(Image.open(root / "SegmentationClass" / f"{name}.png")),
        )
        for name in names
    ]


def cut_grid(pixels: Array) -> Array:
    height, width = pixels.shape[:2]
    return (np.arange(height) * 8 // height)[:, None] * 10 + np.arange(width) * 10 // width


def count_best(labels: Array, truth: Array) -> Array:
    """(CLASSES, CLASSES) pixels by best label of their region and by true label."""
    known = truth != VOID
    shape = (labels.max() + 1, CLASSES)
    counts = np.zeros(shape, np.int64)
    np.add.at(counts, (labels[known], truth[known]), 1)
    confusion = np.zeros((CLASSES, CLASSES), np.int64)
    np.add.at(confusion, counts.argmax(axis=1), counts)
    return confusion


def measure_ceiling(samples: list[Sample], cut: Callable[[Array], Array]) -> dict[str, float]:
    confusion = np.zeros((CLASSES, CLASSES), np.int64)
    regions = []
    for sample in samples:
        labels = cut(read_photo(sample.path).pixels)
        confusion += count_best(labels, sample.truth)
        regions.append(len(np.unique(labels)))
    return {
        "miou": round(100 * mean_iou(confusion), 2),
        "mean_regions": round(float(np.mean(regions)), 2),
        "photos": len(samples),
    }


def time_stages(samples: list[Sample], n_regions: int) -> dict[str, float]:
    """Median processor seconds per photo on one thread, of each stage and of `segment_photo`."""
    seconds: dict[str, list[float]] = {}

    def clock(stage: str, call: Callable[[], object]) -> None:
        start = time.process_time()
        call()
        seconds.setdefault(stage, []).append(time.process_time() - start)

    segment_photo(read_photo(samples[0].path).pixels, n_regions)
    for sample in samples:
        pixels = read_photo(sample.path).pixels
        contour = measure_contour(pixels)
        labels = cut_hierarchy(contour, n_regions)
        clock("read", lambda path=sample.path: read_photo(path))
        clock("contour", lambda pixels=pixels: measure_contour(pixels))
        clock("hierarchy", lambda contour=contour: cut_hierarchy(contour, n_regions))
        clock("graph", lambda labels=labels: measure_adjacency(labels))
        clock("segment_photo", lambda pixels=pixels: segment_photo(pixels, n_regions))
    return {stage: round(float(np.median(times)), 4) for stage, times in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("TAGSIGHT_DATA"),
        help="folder that holds apascal/ (default: $TAGSIGHT_DATA)",
    )
    parser.add_argument("--regions", type=int, default=80, help="regions per photo (default: 80)")
    options = parser.parse_args()
    if options.data is None:
        parser.error("no data: give --data DIR or set TAGSIGHT_DATA to the folder that holds apascal/")
    cv2.setNumThreads(1)
    train, val = list_samples(options.data, "train"), list_samples(options.data, "val")
    write_result(
        "regions",
        {
            "ceiling": {
                "train": measure_ceiling(train, lambda pixels: segment_photo(pixels, options.regions).labels),
                "val": measure_ceiling(val, lambda pixels: segment_photo(pixels, options.regions).labels),
                "val_grid_10x8": measure_ceiling(val, cut_grid),
            },
            "median_processor_seconds_a_photo": time_stages(train[:60], options.regions),
        },
    )


if __name__ == "__main__":
    main()
