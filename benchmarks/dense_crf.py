"""Time of the dense CRF per photo, and the share of the lattice in it.

Processor seconds on one thread for photos of aPascal's segmentation training split at the scale of analysis, with all
21 labels probable everywhere, and with the four that remain after pruning for a classifier that is fairly certain.

    python benchmarks/dense_crf.py --data DIR
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from record import write_result
from tagsight.data.photo import read_photo
from tagsight.regions.dense_crf import DEFAULTS, make_bilateral_filter, refine_labels

LABELS = 21
PHOTOS = 20


def clock(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("TAGSIGHT_DATA"), help="folder that holds apascal/")
    options = parser.parse_args()
    if options.data is None:
        parser.error("no data: give --data DIR or set TAGSIGHT_DATA to the folder that holds apascal/")
    root = Path(options.data) / "apascal" / "VOCdevkit" / "VOC2008"
    names = (root / "ImageSets" / "Segmentation" / "train.txt").read_text().split()[:PHOTOS]
    rng = np.random.default_rng(0)
    seconds: dict[str, list[float]] = {"lattice": [], "21 labels": [], "4 labels": []}
    for number, name in enumerate([names[0], *names]):  # the first call compiles
        pixels = read_photo(root / "JPEGImages" / f"{name}.jpg").pixels
        probability = rng.dirichlet(np.ones(LABELS), pixels.shape[:2]).astype(np.float32)
        few = probability.copy()
        few[..., 4:] = 1e-3
        times = {
            "lattice": clock(lambda pixels=pixels: make_bilateral_filter(pixels, DEFAULTS)),
            "21 labels": clock(lambda pixels=pixels, p=probability: refine_labels(p, pixels)),
            "4 labels": clock(lambda pixels=pixels, p=few: refine_labels(p, pixels)),
        }
        if number:
            for stage, value in times.items():
                seconds[stage].append(value)
    write_result(
        "dense_crf",
        {
            "photos": PHOTOS,
            "rounds": DEFAULTS.rounds,
            "median_processor_seconds_a_photo": {s: round(float(np.median(v)), 3) for s, v in seconds.items()},
        },
    )


if __name__ == "__main__":
    main()
