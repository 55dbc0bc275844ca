"""Time of one sweep at aPascal's size compared with its two largest products; memory, scaling, inference.

Everything is timed in one run on one machine, alternating; results are medians.
"""

import argparse
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from record import write_result
from tagsight import StackedIBP
from tagsight.model.planted import draw_appearance, draw_planted
from tagsight.types import Array
from workload import N_ATTRIBUTES, N_FREE, N_OBJECTS, Workload, draw_workload

N_PHOTOS, D, K = 2113, 1024, N_OBJECTS + N_ATTRIBUTES + N_FREE
REGIONS = 80


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--peak-memory", action="store_true", help="fit only, and print the peak in MB")
    options = parser.parse_args()
    if options.peak_memory:
        print(measure_peak(options.threads))
        return
    work = draw_workload(N_PHOTOS, D, seed=0)
    sweep, floor = time_sweep_and_floor(work, options.threads, options.repeats)
    literal = time_literal_sweep(work)
    write_result(
        "iteration",
        {
            "threads": options.threads,
            "photos": N_PHOTOS,
            "regions_per_photo": REGIONS,
            "D": D,
            "K": K,
            "active_factors": float(work.tags.sum(axis=1).mean() + N_FREE),
            "sweep_s": sweep,
            "floor_s": floor,
            "ratio": sweep / floor,
            "literal_numpy_sweep_s": literal,
            "speed_up_over_literal": literal / sweep,
            "features_mb": work.X.nbytes / 1e6,
            "peak_memory_mb": peak_of_a_fit(options.threads),
            "peak_memory_allowed_mb": 1.5 * work.X.nbytes / 1e6 + 500,
            "scaling": measure_scaling(options.threads, options.repeats),
            "inference": time_inference(),
        },
    )


def time_sweep_and_floor(work: Workload, threads: int, repeats: int) -> tuple[float, float]:
    """Medians in seconds; the two products are timed before each short fit."""
    floors = [time_floor(work, threads) for _ in range(repeats)]
    sweeps = sweep_times(work, threads, repeats)
    floors += [time_floor(work, threads) for _ in range(repeats)]
    return median(sweeps), median(floors)


def sweep_times(work: Workload, threads: int, repeats: int) -> list[float]:
    """Seconds between the ends of consecutive sweeps of a fit with both fields."""
    ends: list[float] = []
    model = StackedIBP(N_OBJECTS, N_ATTRIBUTES, N_FREE, n_threads=threads, max_sweeps=repeats + 1, tol=0.0, seed=0)
    fit_quietly(model, work, lambda sweep: ends.append(time.perf_counter()))
    return list(np.diff(ends))


def fit_quietly(model: StackedIBP, work: Workload, on_sweep: Callable[[Any], None] | None = None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(work.X, work.tags, groups=work.groups, edges=work.edges, on_sweep=on_sweep)


def time_floor(work: Workload, threads: int) -> float:
    """The two products on the active columns with NumPy, with threads over photos or in BLAS, whichever is faster."""
    phi = np.random.default_rng(0).standard_normal((K, D), dtype=np.float32)
    allowed = np.hstack([work.tags, np.ones((len(work.tags), N_FREE), np.uint8)])
    active = [np.flatnonzero(row) for row in allowed]

    def multiply(photos: range) -> None:
        for i in photos:
            x = work.X[REGIONS * i : REGIONS * (i + 1)]
            P = x @ phi[active[i]].T
            P.T @ x

    blocks = [range(i, min(i + 64, len(active))) for i in range(0, len(active), 64)]
    start = time.perf_counter()
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        list(pool.map(multiply, blocks))
    over_photos = time.perf_counter() - start
    start = time.perf_counter()
    with threadpool_limits(threads, user_api="blas"):
        multiply(range(len(active)))
    return min(over_photos, time.perf_counter() - start)


def time_literal_sweep(work: Workload) -> float:
    """A sweep in the paper's order in NumPy: nu of all K factors one by one, then phi one by one."""
    rng = np.random.default_rng(0)
    X = work.X
    nu = rng.random((len(X), K), dtype=np.float32)
    allowed = np.hstack([work.tags, np.ones((len(work.tags), N_FREE), np.uint8)])[work.groups]
    phi = rng.standard_normal((K, D), dtype=np.float32)
    start = time.perf_counter()
    for k in range(K):
        others = np.arange(K) != k
        projection = X @ phi[k] - nu[:, others] @ (phi[others] @ phi[k])
        nu[:, k] = allowed[:, k] / (1.0 + np.exp(np.clip(0.5 * phi[k] @ phi[k] - projection, -50, 50)))
    for k in range(K):
        others = np.arange(K) != k
        explained = (nu[:, k] @ nu[:, others]) @ phi[others]
        phi[k] = (nu[:, k] @ X - explained) / (1.0 + nu[:, k].sum())
    return time.perf_counter() - start


def peak_of_a_fit(threads: int) -> float:
    command = [sys.executable, __file__, "--peak-memory", "--threads", str(threads)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure_peak(threads: int) -> float:
    work = draw_workload(N_PHOTOS, D, seed=0)
    model = StackedIBP(N_OBJECTS, N_ATTRIBUTES, N_FREE, n_threads=threads, max_sweeps=30, tol=1e-3)
    fit_quietly(model, work)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def measure_scaling(threads: int, repeats: int) -> list[dict[str, float]]:
    """Seconds per sweep for 1x, 2x and 4x the photos, and relative to linear growth from 1x."""
    rows: list[dict[str, float]] = []
    for times in (1, 2, 4):
        seconds = median(sweep_times(draw_workload(times * N_PHOTOS, D, seed=0), threads, repeats))
        rows.append({"photos": times * N_PHOTOS, "sweep_s": seconds})
    for row in rows:
        row["over_linear"] = row["sweep_s"] / rows[0]["sweep_s"] / (row["photos"] / N_PHOTOS)
    return rows


def time_inference() -> dict[str, float]:
    """Milliseconds per planted photo on one core, all factors allowed, to convergence."""
    appearance = draw_appearance(K, D, scale=0.3, seed=0)

    def draw(n_photos: int, seed: int) -> Any:
        shape = {"n_photos": n_photos, "n_regions": REGIONS}
        return draw_planted(appearance, N_FREE, **shape, sparsity=6.0, tags_per_photo=13.5, seed=seed)

    train, test = draw(200, 1), draw(50, 2)
    model = StackedIBP(N_OBJECTS, N_ATTRIBUTES, N_FREE, n_threads=1)
    model.fit(train.X.astype(np.float32), train.tags, groups=train.groups, edges=train.edges)
    X = test.X.astype(np.float32)
    edges = test.edges[: REGIONS - 1]
    first = np.zeros(REGIONS, int)
    model.infer(X[:REGIONS], groups=first, edges=edges)  # loads the compiled kernels
    times: list[float] = []
    found: list[Array] = []
    for i in range(50):
        start = time.perf_counter()
        found.append(model.infer(X[REGIONS * i : REGIONS * (i + 1)], groups=first, edges=edges).assign)
        times.append(1e3 * (time.perf_counter() - start))
    tagged = N_OBJECTS + N_ATTRIBUTES
    wrong = np.mean((np.concatenate(found) > 0.5)[:, :tagged] != test.assign[:, :tagged])
    return {"median_ms": median(times), "slowest_ms": max(times), "wrong_share": float(wrong)}


if __name__ == "__main__":
    main()
