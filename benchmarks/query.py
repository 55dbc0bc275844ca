"""Time, memory and disk space of queries against the size of the collection, compared with a NumPy scan.

    python benchmarks/query.py [--sizes 1000 ... 100000] [--scratch DIR]

Photos of 80 regions and 84 factors, drawn by `made_index` and written as real ones are. The same random two- and
three-word queries (an object with one or two attributes), top 20, are run by the index and by NumPy, each in a process
that does nothing else:

- index: `Index.find`, from text to hits with path, region and box, with the files in the page cache; with words of
  recent queries, with other words (their highest levels in memory since their first query, their regions on disk), and
  with words of no earlier query;
- NumPy: the columns in memory as uint16 arrays (I x 80), their product, the maximum of each photo, the best 20; at once
  and in blocks that fit the cache, whichever is faster.

Both wall time and processor time are measured; for one thread they agree if nothing else runs. One thread: either is
pinned to one core. Two threads: the index uses one, the scan uses both. Times are medians over queries of the minimum
of five runs, as on an idle machine. In `flat`, every factor is uniform and independent in every region, so that no
bound excludes a photo.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from made_index import ATTRIBUTES, OBJECTS, REGIONS, make_index
from record import write_result
from tagsight.index import open_index
from tagsight.types import Array

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
WORDS = {"two": 1, "three": 2}  # attributes beside the object
QUERIES = 20
RUNS = 5
TOP = 20
BLOCK = 256  # photos
PICTURE = Path(__file__).parents[1] / "docs/images/query-time.svg"


class Times(NamedTuple):
    """Milliseconds of one call."""

    wall: float
    processor: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="photos of the collections, rising")
    parser.add_argument("--scratch", type=Path, help="folder for the made indexes (3 GB at 100,000 photos)")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        what, folder, threads = arguments.measure
        print(json.dumps(MEASURES[what](Path(folder), int(threads))))
        return
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        rows = [measure_size(Path(scratch, str(size)), size) for size in arguments.sizes]
        flat = measure_size(Path(scratch, "flat"), arguments.sizes[-1], flat=True)
    draw(rows)
    write_result(
        "query", {"regions": REGIONS, "factors": OBJECTS + ATTRIBUTES, "top": TOP, "sizes": rows, "flat": flat}
    )


def measure_size(folder: Path, n_photos: int, *, flat: bool = False) -> dict[str, Any]:
    make_index(folder, n_photos, flat=flat)
    row: dict[str, Any] = {"photos": n_photos, "disk_mb": round(sum(size_of(folder)) / 1e6, 1)}
    for threads in (1, 2):
        figures = {what: run_alone(what, folder, threads) for what in MEASURES}
        for words in WORDS:
            for clocked in ("wall_ms", "processor_ms"):
                for kind in (words, f"{words}_other_words"):
                    ratio = figures["index"][kind][clocked] / figures["numpy"][words][clocked]
                    figures[f"{kind}_{clocked[:-3]}_ratio"] = round(ratio, 2)
        row[f"{threads}_thread" + "s" * (threads > 1)] = figures
    return row


def size_of(folder: Path) -> list[int]:
    return [path.stat().st_size for path in folder.rglob("*") if path.is_file()]


def run_alone(what: str, folder: Path, threads: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", what, str(folder), str(threads)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    cores = sorted(os.sched_getaffinity(0))[-threads:]
    pin = ["taskset", "-c", ",".join(map(str, cores))]
    return json.loads(subprocess.run([*pin, *command], env=environment, check=True, capture_output=True).stdout)


def draw_queries(n_attributes: int) -> list[list[int]]:
    rng = np.random.default_rng(n_attributes)
    return [
        [int(rng.integers(OBJECTS)), *(OBJECTS + rng.choice(ATTRIBUTES, n_attributes, replace=False)).tolist()]
        for _ in range(QUERIES)
    ]


def unlike_queries(names: tuple[str, ...]) -> list[str]:
    """Queries of two words; no word is in two of them."""
    return [f"{names[k]} {names[OBJECTS + k]}" for k in range(OBJECTS)]


def measure_index(folder: Path, threads: int) -> dict[str, Any]:
    opening = clock(lambda: open_index(folder))
    index = open_index(folder)
    names = index.manifest.factor_names
    figures: dict[str, Any] = {"opened": summarise([opening])}
    figures["new_words"] = summarise(
        [clock(lambda text=text: index.find(text, top=TOP)) for text in unlike_queries(names)]
    )
    index.snapshot.read_tops(range(len(names)))
    for words, n_attributes in WORDS.items():
        texts = [" ".join(names[k] for k in query) for query in draw_queries(n_attributes)]
        other = [clock(lambda text=text: index.find(text, top=TOP)) for text in texts]
        figures[words] = summarise([fastest(lambda text=text: index.find(text, top=TOP)) for text in texts])
        figures[f"{words}_other_words"] = summarise(other)
    figures["peak_memory_mb"] = peak_memory_mb()
    return figures


def peak_memory_mb() -> float:
    """Of this process only; that of getrusage would include the parent process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return round(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3, 1)


def measure_numpy(folder: Path, threads: int) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    with ThreadPoolExecutor(threads) as pool:
        for words, n_attributes in WORDS.items():
            times: list[Times] = []
            for query in draw_queries(n_attributes):
                columns = read_columns(folder, query)
                times.append(
                    min(fastest(lambda c=columns, s=scan: s(c, pool, threads)) for scan in (at_once, in_blocks))
                )
            figures[words] = summarise(times)
    return figures


def read_columns(folder: Path, factors: list[int]) -> list[Array]:
    """(I, 80) uint16 of each factor."""
    snapshot = open_index(folder).snapshot
    levels = snapshot.read_levels(factors, np.arange(len(snapshot.photos)))
    return [levels.values[k].reshape(-1, REGIONS).copy() for k in factors]


def at_once(columns: list[Array], pool: ThreadPoolExecutor, threads: int) -> Array:
    return pick_best(pool, threads, len(columns[0]), lambda a, b: score(columns, a, b))


def in_blocks(columns: list[Array], pool: ThreadPoolExecutor, threads: int) -> Array:
    def some(a: int, b: int) -> Array:
        return np.concatenate([score(columns, i, min(i + BLOCK, b)) for i in range(a, b, BLOCK)])

    return pick_best(pool, threads, len(columns[0]), some)


def score(columns: list[Array], a: int, b: int) -> Array:
    """The highest product in each photo; integer for two columns, in single precision for three."""
    if len(columns) == 2:
        return np.multiply(columns[0][a:b], columns[1][a:b], dtype=np.uint32).max(axis=1)
    product = np.multiply(columns[0][a:b], columns[1][a:b], dtype=np.float32)
    return np.multiply(product, columns[2][a:b], dtype=np.float32, out=product).max(axis=1)


def pick_best(pool: ThreadPoolExecutor, threads: int, n_photos: int, some: Callable[[int, int], Array]) -> Array:
    edges = np.linspace(0, n_photos, threads + 1).astype(int).tolist()
    scores = some(0, n_photos) if threads == 1 else np.concatenate(list(pool.map(some, edges[:-1], edges[1:])))
    best = np.argpartition(scores, n_photos - TOP)[n_photos - TOP :]
    return best[np.argsort(-scores[best].astype(np.float64))]


def fastest(call: Callable[[], Any]) -> Times:
    """The minimum of some runs, for either clock."""
    runs = [clock(call) for _ in range(RUNS)]
    return Times(min(run.wall for run in runs), min(run.processor for run in runs))


def clock(call: Callable[[], Any]) -> Times:
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return Times(1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - processor))


def summarise(times: list[Times]) -> dict[str, float]:
    """Medians over queries."""
    return {
        "wall_ms": round(median(one.wall for one in times), 2),
        "processor_ms": round(median(one.processor for one in times), 2),
    }


def draw(rows: list[dict[str, Any]]) -> None:
    """The picture of the documentation: time against size."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "tagsight"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    sizes = [row["photos"] for row in rows]
    for words, mark in zip(WORDS, "os", strict=True):
        for what, label, line in (("index", "index", "-"), ("numpy", "NumPy scan in memory", ":")):
            times = [row["1_thread"][what][words]["processor_ms"] for row in rows]
            axes.plot(sizes, times, line, marker=mark, label=f"{label}, {words} words")
    axes.set(xscale="log", yscale="log", xlabel="photos (80 regions each)", ylabel="ms of one processor per query")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.tight_layout()
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None})


MEASURES: dict[str, Callable[[Path, int], dict[str, Any]]] = {"index": measure_index, "numpy": measure_numpy}

if __name__ == "__main__":
    main()
