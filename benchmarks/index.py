"""Time to build an index of real photos, time of queries, and agreement of their ranking with brute force.

    python benchmarks/index.py --data DIR --model FILE [--photos N]

All 4,340 aPascal photos (train and test), with an empty feature cache, on two worker processes. Then 300 random
object-attribute pairs are queried, top 20, each once before it is timed, and every result is compared with
max_r p_ro p_ra over the model's posteriors in float64.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from record import write_result
from tagsight.features.extract import extract
from tagsight.index import Index, build_index, list_source, open_index
from tagsight.index.build import BATCH, join_factors
from tagsight.index.sources import PhotoSource
from tagsight.predict.model_file import load_model
from tagsight.predict.predictor import predict_photos
from tagsight.types import Array

PHOTOS = Path("apascal/VOCdevkit/VOC2008/JPEGImages")
PAIRS = 300
TOP = 20
WORKERS = 2


def main() -> None:
    arguments = parse_arguments()
    source = list_source(arguments.data / PHOTOS)
    source = source._replace(photos=source.photos[: arguments.photos])
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        os.environ["TAGSIGHT_CACHE"] = str(Path(scratch, "cache"))
        folder = Path(scratch, "index")
        start, spent = time.perf_counter(), os.times()
        built = build_index(load_model(arguments.model), source, folder, n_workers=WORKERS)
        seconds, used = time.perf_counter() - start, os.times()
        start = time.perf_counter()
        build_index(load_model(arguments.model), source, folder, n_workers=WORKERS)
        again = time.perf_counter() - start
        figures = {
            "photos": built.n_photos,
            "workers": WORKERS,
            "build_s": round(seconds, 1),
            "build_processor_s": round(sum(used[:4]) - sum(spent[:4]), 1),
            "build_again_s": round(again, 2),
            "disk_mb": round(sum(path.stat().st_size for path in (folder / "parts").iterdir()) / 1e6, 1),
            **measure_queries(open_index(folder), list_posteriors(arguments.model, source)),
        }
    write_result("index", figures)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = os.environ.get("TAGSIGHT_DATA")
    parser.add_argument("--data", type=Path, default=data, required=data is None, help="folder with apascal/")
    parser.add_argument("--model", type=Path, required=True, help="model trained on the training split")
    parser.add_argument("--photos", type=int, help="number of photos; by default all")
    parser.add_argument("--scratch", type=Path, help="folder for the index and its feature cache (2 GB)")
    return parser.parse_args()


def list_posteriors(model_file: Path, source: PhotoSource) -> dict[str, Array]:
    """(R, K) probabilities of every photo by its path in the index."""
    model = load_model(model_file)
    extraction = extract(source.photos, model.extractor_config, n_regions=model.n_regions, n_workers=WORKERS)
    described, names = extraction.load(), [path.relative_to(source.root).as_posix() for path in extraction.photos]
    posteriors: dict[str, Array] = {}
    for start in range(0, len(names), BATCH):
        batch = [next(described) for _ in names[start : start + BATCH]]
        posteriors |= zip(names[start:], map(join_factors, predict_photos(model.predictor, batch)), strict=False)
    return posteriors


def measure_queries(index: Index, posteriors: dict[str, Array]) -> dict[str, Any]:
    names, n_objects = index.manifest.factor_names, len(index.manifest.objects)
    n_attributes = len(index.manifest.attributes)
    rng = np.random.default_rng(0)
    times: list[float] = []
    apart = displaced = 0.0
    for _ in range(PAIRS):
        factors = [int(rng.integers(n_objects)), n_objects + int(rng.integers(n_attributes))]
        text = " ".join(f'"{names[k]}"' for k in factors)
        index.find(text, top=TOP)
        start = time.perf_counter()
        hits = index.find(text, top=TOP)
        times.append(time.perf_counter() - start)
        exact = {path: float(one[:, factors].prod(axis=1).max()) for path, one in posteriors.items()}
        best = sorted(exact.values(), reverse=True)[:TOP]
        apart = max(apart, *(abs(hit.score - exact[hit.path]) for hit in hits))
        displaced = max(displaced, *(abs(exact[hit.path] - score) for hit, score in zip(hits, best, strict=True)))
    return {
        "queries": PAIRS,
        "query_median_ms": round(1e3 * median(times), 2),
        "query_slowest_ms": round(1e3 * max(times), 2),
        "score_against_brute_force": apart,
        "rank_against_brute_force": displaced,
    }


if __name__ == "__main__":
    main()
