"""Time and memory of a sweep against the number of photos, for threads and for Ray actors.

    python benchmarks/scaling.py [--engines local ray] [--sizes 1000 10000 100000]

80 regions per photo, D = 256, aPascal's factors, both fields. Every run is a process of its own, so that its peak
memory is measured alone. The memory of Ray is that of the driver and the actors together; the features of the driver
are a memory map, whose pages are counted although the system may reclaim them. 100,000 photos have 8 GB of features:
for Ray the folder of temporary files ($TMPDIR) needs twice that, and the machine as much memory.

Runs of other engines, sizes and machines stay in results/scaling.json. The GPU is measured by benchmarks/gpu.py;
benchmarks/scaling_page.py draws all of them.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from record import RESULTS, write_result
from tagsight.engine.devices import ENGINES, ComputeTarget, LocalBatch, open_batches
from tagsight.engine.ray.cluster import fetch
from tagsight.model.fields import correlate_tags
from tagsight.model.fit import Loop, run_sweeps
from tagsight.model.layout import Edges, Shard, lay_out
from tagsight.model.local_step import add_squares
from tagsight.model.settings import Factors, Settings, plan_sticks
from tagsight.model.start import STARTS, blank_globals, first_globals, start_local
from tagsight.types import Array
from tagsight_bench.machine import describe_machine
from workload import COLUMNS, N_ATTRIBUTES, N_FREE, N_OBJECTS, ROWS, draw_workload

D = 256
FACTORS = Factors(N_OBJECTS, N_ATTRIBUTES, N_FREE)
SETTINGS = Settings(FACTORS)
PLAN = plan_sticks(SETTINGS)
CHUNK = 2**16  # rows drawn at a time


def main() -> None:
    options = parse_arguments()
    if options.one:
        print(json.dumps(measure(options.one, options.sizes[0], options.sweeps, options.scratch)))
        return
    for engine in options.engines:
        for photos in options.sizes:
            store_run(run_apart(engine, photos, options))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 10_000, 100_000], help="photos")
    parser.add_argument("--sweeps", type=int, default=6)
    parser.add_argument("--one", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def run_apart(engine: str, photos: int, options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", engine, "--sizes", str(photos), "--sweeps", str(options.sweeps)]
    with tempfile.TemporaryDirectory() as scratch:
        environment = {**os.environ, "TAGSIGHT_CACHE": str(Path(scratch, "cache"))}
        command += ["--scratch", scratch]
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(run.stdout)


def store_run(run: dict[str, Any]) -> None:
    """Add the run to the results, in place of an earlier one of the same kind."""
    path = RESULTS / "scaling.json"
    others = json.loads(path.read_text())["runs"] if path.exists() else []
    runs = [*(other for other in others if identify(other) != identify(run)), run]
    figures = {"regions_per_photo": ROWS * COLUMNS, "D": D, "K": FACTORS.total}
    write_result("scaling", {**figures, "runs": sorted(runs, key=identify)})


def identify(run: dict[str, Any]) -> tuple[str, str, int]:
    return run["engine"], run["machine"]["cpu"], run["photos"]


def measure(engine: str, n_photos: int, n_sweeps: int, scratch: Path) -> dict[str, Any]:
    shard, affinity = make_shard(n_photos, scratch, mapped=engine == "ray")
    fill = STARTS["tags"]([shard], FACTORS, 0)
    local = start_local(shard, fill, np.ones(PLAN.n_sequences), PLAN)
    ends: list[float] = []
    with open_batches(ComputeTarget("cpu", engine)) as make_batch:
        batch = make_batch(shard, local, SETTINGS)
        del local
        blank = blank_globals(SETTINGS, D)
        first = batch.summarise(blank)
        state = first_globals(first, blank, SETTINGS, affinity)
        loop = Loop(n_sweeps, 0.0, on_sweep=lambda sweep: ends.append(time.perf_counter()))
        fit = run_sweeps([batch], [first], state, SETTINGS, loop, n_run=0)
        memory = measure_memory(engine, batch)
    return {
        "engine": engine,
        "photos": n_photos,
        "workers": count_workers(batch),
        "sweep_s": median(np.diff(ends)),
        "fastest_s": float(np.min(np.diff(ends))),
        "features_bytes": shard.features.nbytes,
        "peak_bytes": memory,
        "bound": fit.bound,
        "machine": describe_machine(),
    }


def make_shard(n_photos: int, scratch: Path, *, mapped: bool) -> tuple[Shard, Array]:
    work = draw_workload(n_photos, 0, seed=0)
    path = scratch / "features.npy"
    draw_features(path, len(work.groups))
    X: Array = np.asarray(np.load(path, mmap_mode="c" if mapped else None))
    allowed = np.hstack([work.tags, np.ones((n_photos, N_FREE), np.uint8)])
    layout = lay_out(work.groups, allowed, Edges(work.edges, np.ones(len(work.edges))), PLAN)
    return Shard(X, layout, add_squares(X, layout)), correlate_tags(work.tags, N_FREE)


def draw_features(path: Path, n_regions: int) -> None:
    """Noise, written in chunks."""
    rng = np.random.default_rng(1)
    header = {"descr": "<f4", "fortran_order": False, "shape": (n_regions, D)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for first in range(0, n_regions, CHUNK):
            rng.standard_normal((min(CHUNK, n_regions - first), D), dtype=np.float32).tofile(file)


def measure_memory(engine: str, batch: Any) -> int:
    """Peak resident bytes of the processes of the run."""
    actors = ask_actors(batch, lambda worker: peak_of_this_process()) if engine == "ray" else []
    return peak_of_this_process() + sum(actors)


def peak_of_this_process() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def ask_actors(batch: Any, question: Callable[[Any], Any]) -> list[Any]:
    return fetch([actor.__ray_call__.remote(question) for actor in batch.actors])


def count_workers(batch: LocalBatch) -> int:
    return len(getattr(batch, "actors", ())) or os.cpu_count() or 1


if __name__ == "__main__":
    main()
