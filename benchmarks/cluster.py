"""Sweeps on a Ray cluster of this machine: agreement with one process, also under kills; overhead of Ray per sweep.

    python benchmarks/cluster.py [--photos 2113] [--sweeps 20]

Besides threads and actors, processes connected by pipes are timed, which do the same work and send the same summaries
as the actors. (The script is not named ray.py, since `import ray` would then import it.)
"""

import argparse
import multiprocessing
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial, reduce
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from record import write_result
from tagsight.engine.devices import ComputeTarget, open_batches
from tagsight.engine.ray.cluster import fetch, join_cluster
from tagsight.engine.ray.parts import cut_local, cut_shard, prepare_worker
from tagsight.engine.ray.worker import Journal, Operation, ShardWorker
from tagsight.model.fields import correlate_tags
from tagsight.model.fit import Fit, Loop, Sweep, run_sweeps
from tagsight.model.layout import Edges, Shard, lay_out
from tagsight.model.local_step import add_squares
from tagsight.model.planted import draw_appearance, draw_planted
from tagsight.model.settings import Factors, Settings, plan_sticks
from tagsight.model.start import STARTS, blank_globals, first_globals, start_local
from tagsight.model.state import Globals, Local, SummaryStatistics, merge
from tagsight.types import Array, Ints
from workload import N_ATTRIBUTES, N_FREE, N_OBJECTS, draw_workload

D = 256
FACTORS = Factors(N_OBJECTS, N_ATTRIBUTES, N_FREE)
SETTINGS = Settings(FACTORS)
PLAN = plan_sticks(SETTINGS)
ACTORS = (1, 2, 4)
KILLS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=int, default=2113, help="of the timed runs")
    parser.add_argument("--sweeps", type=int, default=20)
    options = parser.parse_args()
    import ray

    with tempfile.TemporaryDirectory() as scratch, join_cluster():
        os.environ["TAGSIGHT_CACHE"] = scratch
        os.environ["OMP_NUM_THREADS"] = "1"  # one BLAS thread per process, as Ray sets it for its actors
        figures = {
            "ray": ray.__version__,
            "sweeps": options.sweeps,
            "agreement": compare_models(options.sweeps),
            "kills": kill_actors(options.sweeps),
            "overhead": [time_sweeps(n, options.sweeps) for n in (64, options.photos)],
        }
    write_result("cluster", figures)


class Problem:
    """A shard and its initial state."""

    def __init__(self, X: Array, tags: Array, groups: Ints, edges: Ints):
        allowed = np.hstack([tags, np.ones((len(tags), N_FREE), np.uint8)])
        layout = lay_out(groups, allowed, Edges(edges, np.ones(len(edges))), PLAN)
        self.shard = Shard(X, layout, add_squares(X, layout))
        fill = STARTS["tags"]([self.shard], FACTORS, 0)
        self.local = start_local(self.shard, fill, np.ones(PLAN.n_sequences), PLAN)
        self.affinity = correlate_tags(tags, N_FREE)


def sweep(batch: Any, problem: Problem, n_sweeps: int, on_sweep: Callable[[Sweep], None] = lambda _: None) -> Fit:
    blank = blank_globals(SETTINGS, D)
    first = batch.summarise(blank)
    state = first_globals(first, blank, SETTINGS, problem.affinity)
    return run_sweeps([batch], [first], state, SETTINGS, Loop(n_sweeps, 0.0, on_sweep), n_run=0)


def draw_photos(n_photos: int, dtype: type) -> Problem:
    appearance = draw_appearance(FACTORS.total, D, scale=0.3, seed=0)
    shape = {"n_photos": n_photos, "n_regions": 80}
    planted = draw_planted(appearance, N_FREE, **shape, sparsity=6.0, tags_per_photo=13.5, seed=1)
    return Problem(planted.X.astype(dtype), planted.tags, planted.groups, planted.edges)


def compare_models(n_sweeps: int) -> list[dict[str, Any]]:
    """Bounds, appearances and posteriors of 300 planted photos, against one thread of this process."""
    rows: list[dict[str, Any]] = []
    for dtype in (np.float64, np.float32):
        problem = draw_photos(300, dtype)
        exact, nu = fit_on("local", 1, problem, n_sweeps)
        for n_actors in ACTORS:
            found, nu_found = fit_on("ray", n_actors, problem, n_sweeps)
            rows.append(
                {
                    "features": np.dtype(dtype).name,
                    "actors": n_actors,
                    "bound_relative_difference": abs(found.bound - exact.bound) / abs(exact.bound),
                    "largest_difference_of_nu": float(np.abs(nu_found - nu).max()),
                    "largest_difference_of_appearance": float(
                        np.abs(found.state.appearance.mean - exact.state.appearance.mean).max()
                    ),
                }
            )
    return rows


def fit_on(engine: str, n: int, problem: Problem, n_sweeps: int) -> tuple[Fit, Array]:
    with open_batches(ComputeTarget("cpu", engine, n)) as make_batch:
        batch = make_batch(problem.shard, problem.local, SETTINGS)
        return sweep(batch, problem, n_sweeps), batch.local.assign


def kill_actors(n_sweeps: int) -> dict[str, Any]:
    """Kill an actor by SIGKILL five times at random moments: whether the result is equal, and the time it took."""
    problem = draw_photos(300, np.float32)
    start = time.perf_counter()
    exact, nu = fit_on("ray", 2, problem, n_sweeps)
    undisturbed = time.perf_counter() - start
    moments = random.Random(0)
    sweeps = set(moments.sample(range(1, n_sweeps - 1), KILLS))
    killed: list[int] = []
    with open_batches(ComputeTarget("cpu", "ray", 2)) as make_batch:
        batch: Any = make_batch(problem.shard, problem.local, SETTINGS)

        def disturb(sweep: Sweep) -> None:
            if sweep.number in sweeps:
                actor = moments.choice(batch.actors)
                pid = fetch(actor.__ray_call__.remote(lambda worker: os.getpid()))
                killed.append(pid)
                threading.Timer(moments.uniform(0, 0.05), os.kill, [pid, signal.SIGKILL]).start()

        start = time.perf_counter()
        found = sweep(batch, problem, n_sweeps, disturb)
        disturbed = time.perf_counter() - start
        same = np.array_equal(batch.local.assign, nu) and found.bound == exact.bound
    return {"kills": len(killed), "same_bits": bool(same), "undisturbed_s": undisturbed, "disturbed_s": disturbed}


def time_sweeps(n_photos: int, n_sweeps: int) -> dict[str, Any]:
    """Median milliseconds per sweep, including the global step."""
    work = draw_workload(n_photos, D, seed=0)
    problem = Problem(work.X, work.tags, work.groups, work.edges)
    cores = os.cpu_count() or 1
    row: dict[str, Any] = {"photos": n_photos, "regions_per_photo": 80, "D": D, "K": FACTORS.total}
    for n in sorted({1, cores}):
        row[f"threads_{n}_ms"] = time_on(partial(open_batches, ComputeTarget("cpu", "local", n)), problem, n_sweeps)
    for n in sorted({1, cores, *ACTORS}):
        row[f"processes_{n}_ms"] = time_processes(n, problem, n_sweeps)
        row[f"actors_{n}_ms"] = time_on(partial(open_batches, ComputeTarget("cpu", "ray", n)), problem, n_sweeps)
    return row


def time_on(batches: Callable[[], Any], problem: Problem, n_sweeps: int) -> float:
    with batches() as make_batch:
        return time_batch(make_batch(problem.shard, problem.local, SETTINGS), problem, n_sweeps)


def time_processes(n: int, problem: Problem, n_sweeps: int) -> float:
    with tempfile.TemporaryDirectory() as scratch:
        batch = ProcessBatch(problem.shard, problem.local, n, Path(scratch))
        try:
            return time_batch(batch, problem, n_sweeps)
        finally:
            batch.close()


def time_batch(batch: Any, problem: Problem, n_sweeps: int) -> float:
    ends: list[float] = []
    sweep(batch, problem, n_sweeps, lambda _: ends.append(time.perf_counter()))
    return 1e3 * median(np.diff(ends))


class ProcessBatch:
    """The same workers connected by pipes, without recovery from a crash."""

    def __init__(self, shard: Shard, local: Local, n: int, folder: Path):
        context = multiprocessing.get_context("spawn")
        self._pipes: list[Any] = []
        self._processes: list[Any] = []
        parts = zip(cut_shard(shard, n), cut_local(local, shard.layout, n), strict=True)
        for number, part in enumerate(parts):
            prepare_worker(folder / str(number), *part)
            pipe, worker_end = context.Pipe()
            self._processes.append(context.Process(target=serve, args=(folder / str(number), worker_end), daemon=True))
            self._processes[-1].start()
            self._pipes.append(pipe)
        self._number = 0

    def summarise(self, state: Globals) -> SummaryStatistics:
        """See `model.fit.Batch`."""
        return self._ask("summarise", Journal(self._number, []), state)

    def step(self, state: Globals) -> SummaryStatistics:
        """See `model.fit.Batch`."""
        self._number += 1
        return self._ask("perform", Journal(self._number - 1, [Operation("step", state)]))

    def close(self) -> None:
        """End the processes."""
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            pipe.close()
            process.join()

    def _ask(self, *question: Any) -> SummaryStatistics:
        for pipe in self._pipes:
            pipe.send(question)
        return reduce(merge, [pipe.recv() for pipe in self._pipes])


def serve(folder: Path, pipe: Any) -> None:
    worker = ShardWorker(folder, SETTINGS, lambda operation: operation)
    try:
        while True:
            name, *arguments = pipe.recv()
            pipe.send(getattr(worker, name)(*arguments))
    except EOFError:
        return


if __name__ == "__main__":
    main()
