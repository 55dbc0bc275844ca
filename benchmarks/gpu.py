"""Sweeps on a GPU: agreement with the CPU in double precision, time at two sizes, and what bounds it.

Ceilings (a bare copy, bare matrix products) are measured in the same run. The parts of a sweep are timed apart,
each over all chunks; their sum may differ a little from the time of a whole step.
"""

# pyright: reportMissingImports=false

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch
from record import write_result
from torch import Tensor
from workload import N_ATTRIBUTES, N_FREE, N_OBJECTS, Workload, draw_workload

from tagsight.data.planted import Planted, draw_appearance, draw_planted
from tagsight.engine.cuda import local_step as steps
from tagsight.engine.cuda.batch import CudaBatch
from tagsight.engine.cuda.products import project, sum_products
from tagsight.engine.cuda.resident import Photos, Posterior, cut_chunks, upload_photos, upload_posterior
from tagsight.engine.threads import ThreadBatch, thread_map
from tagsight.model.fields import correlate_tags
from tagsight.model.fit import Loop, settle
from tagsight.model.global_step import global_step
from tagsight.model.layout import Edges, Shard, lay_out, spread_assign, sum_squares
from tagsight.model.settings import Factors, Settings, plan_sticks
from tagsight.model.start import STARTS, blank_globals, first_globals, start_local
from tagsight.model.state import Globals, Local, Summary

FACTORS = Factors(N_OBJECTS, N_ATTRIBUTES, N_FREE)
K = FACTORS.total
SETTINGS = Settings(FACTORS)
PLAN = plan_sticks(SETTINGS)
GPU = torch.device("cuda")
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--sweeps", type=int, default=30, help="of the comparison with the CPU")
    parser.add_argument("--photos", type=int, default=1_000_000, help="of the large run; 0 leaves it out")
    options = parser.parse_args()
    figures: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    figures["ceilings"] = measure_ceilings()
    figures["against_cpu_float64"] = compare_with_cpu(options.sweeps)
    figures["apascal"] = measure_apascal(options.repeats)
    if options.photos:
        figures["large"] = measure_large(options.photos, max(options.repeats // 3, 2))
    write_result("gpu", figures)


def measure_ceilings() -> dict[str, float]:
    """Bytes a second of a copy (read and written), operations a second of 8192-cubed products."""
    source, target = torch.randn(2, 2**30, device=GPU)
    found = {"copy_bytes_per_s": 2 * source.nbytes / time_on_gpu(lambda: target.copy_(source), 10)}
    for name, dtype in PRECISIONS.items():
        a, b = (torch.randn(8192, 8192, device=GPU).to(dtype) for _ in range(2))
        found[f"{name}_flop_per_s"] = 2 * 8192**3 / time_on_gpu(lambda a=a, b=b: a @ b, 10)
    return found


def compare_with_cpu(n_sweeps: int) -> dict[str, Any]:
    """Planted photos, the same start, so many sweeps: bounds, and the most probable object of each region.

    Regions of photos without an object tag are left out. Beside the comparison with the features as they are stands
    that with what the GPU holds of them, which tells arithmetic from storage; and single precision on the CPU.
    """
    appearance = draw_appearance(K, 256, scale=0.3, seed=0)
    shape = {"n_photos": 300, "n_regions": 80}
    planted = draw_planted(appearance, N_FREE, **shape, sparsity=6.0, tags_per_photo=13.5, seed=1)
    tagged = planted.tags[planted.groups][:, :N_OBJECTS].any(axis=1)

    start = start_of(shard_of_planted(planted, planted.X))

    def fit_on_cpu(X: Any) -> Any:
        with thread_map(None) as threads:
            return sweep_planted(
                planted, X, start, n_sweeps, lambda shard, local: ThreadBatch(shard, local, SETTINGS, threads)
            )

    def fit_on_gpu(dtype: torch.dtype) -> Any:
        return sweep_planted(
            planted, planted.X, start, n_sweeps, lambda shard, local: CudaBatch(shard, local, SETTINGS, GPU, dtype)
        )

    exact = fit_on_cpu(planted.X)
    single = fit_on_cpu(planted.X.astype(np.float32))
    found: dict[str, Any] = {"photos": 300, "regions_per_photo": 80, "D": 256, "sweeps": n_sweeps, "bound": exact[0]}
    found["cpu_float32"] = differences(single, exact, tagged)
    for name, dtype in PRECISIONS.items():
        ours = fit_on_gpu(dtype)
        again = fit_on_gpu(dtype)
        held = torch.from_numpy(planted.X).to(dtype).double().numpy()
        found[name] = {
            **differences(ours, exact, tagged),
            "on_the_features_held": differences(ours, fit_on_cpu(held), tagged),
            "same_again": bool(again[0] == ours[0] and np.array_equal(again[1], ours[1])),
        }
    return found


def sweep_planted(planted: Planted, X: Any, start: Local, n_sweeps: int, make: Callable[..., Any]) -> tuple[float, Any]:
    """The bound after so many sweeps, and nu (N, K)."""
    shard = shard_of_planted(planted, X)
    batch = make(shard, start._replace(assign=start.assign.astype(X.dtype)))
    blank = blank_globals(SETTINGS, X.shape[1])
    first = batch.summarise(blank)
    state = first_globals(first, blank, SETTINGS, correlate_tags(planted.tags, N_FREE))
    fit = settle([batch], [first], state, SETTINGS, Loop(n_sweeps, 0.0), n_run=0)
    nu = np.zeros((len(X), K))
    spread_assign(shard.layout, batch.local.assign, np.arange(len(nu)), nu)
    return fit.bound, nu


def differences(ours: Any, theirs: Any, rows: Any) -> dict[str, float]:
    a, b = ours[1][rows, :N_OBJECTS], theirs[1][rows, :N_OBJECTS]
    choice = a.argmax(axis=1)
    lost = b.max(axis=1) - b[np.arange(len(b)), choice]
    return {
        "bound_relative_error": abs(ours[0] - theirs[0]) / abs(theirs[0]),
        "same_object": float(np.mean(choice == b.argmax(axis=1))),
        "same_object_but_for_ties_within_1e-6": float(np.mean(lost <= 1e-6)),
        "largest_difference_of_nu": float(np.abs(ours[1] - theirs[1]).max()),
        "mean_difference_of_nu": float(np.abs(ours[1] - theirs[1]).mean()),
    }


def measure_apascal(repeats: int) -> dict[str, Any]:
    """2,113 photos of 100 regions, D = 1024."""
    work = draw_workload(2113, 1024, seed=0, rows=10, columns=10)
    shard = shard_of(work)
    local = start_of(shard)
    posterior = upload_posterior(local, shard.layout, PLAN, GPU)
    affinity = correlate_tags(work.tags, N_FREE)
    found: dict[str, Any] = {"photos": 2113, "regions_per_photo": 100, "D": 1024, "K": K}
    for name, dtype in PRECISIONS.items():
        photos = upload_photos(shard, PLAN, GPU, dtype)
        found[name] = measure_sweep(photos, posterior.copy(), affinity, repeats)
    return found


def measure_large(n_photos: int, repeats: int) -> dict[str, Any]:
    """So many photos of 80 regions, D = 320, in bfloat16: the layout of a few photos over and over, fresh features."""
    D, distinct = 320, 2000
    times = n_photos // distinct
    work = draw_workload(distinct, D, seed=0)
    shard = shard_of(work)
    local = start_of(shard)
    few = upload_photos(shard, PLAN, GPU, torch.bfloat16)
    posterior = Posterior._make(t.repeat(times) for t in upload_posterior(local, shard.layout, PLAN, GPU))
    photos = repeat_photos(few, times, D)
    figures = measure_sweep(photos, posterior, correlate_tags(work.tags, N_FREE), repeats)
    size = {"photos": times * distinct, "regions_per_photo": 80, "D": D, "K": K}
    return {**size, "bfloat16": figures, "peak_gpu_bytes": torch.cuda.max_memory_allocated()}


def measure_sweep(photos: Photos, posterior: Posterior, affinity: Any, repeats: int) -> dict[str, Any]:
    """Median times of a step and of its parts; bytes and operations that a step cannot do without."""
    D = photos.features.shape[1]
    blank = blank_globals(SETTINGS, D)
    first = steps.local_step(photos, posterior, blank, SETTINGS, 0)
    state = first_globals(first, blank, SETTINGS, affinity)
    steps.local_step(photos, posterior, state, SETTINGS, 1)  # compiles
    seconds: list[float] = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        steps.local_step(photos, posterior, state, SETTINGS, 1)
        seconds.append(time.perf_counter() - start)
    step = median(seconds)
    N = len(photos.neighbour_start) - 1
    n_assign, size = len(posterior.assign), photos.features.element_size()
    bytes_moved = 2 * N * D * size + 4 * N * K + 4 * n_assign * 4 + 2 * N * K * size
    operations = 4 * N * D * K + 2 * N * K * K + 2 * n_assign**2 // N
    parts = time_parts(photos, posterior, state, repeats)
    return {
        "step_s": step,
        "fastest_s": min(seconds),
        "active_factors": n_assign / N,
        "global_step_s": median(time_global_step(first, state) for _ in range(repeats)),
        "parts_s": parts,
        "bytes": bytes_moved,
        "bytes_per_s": bytes_moved / step,
        "operations": operations,
        "flop_per_s": operations / step,
    }


def time_global_step(summary: Summary, state: Globals) -> float:
    """On the CPU, one thread, as in a fit."""
    with thread_map(1):
        start = time.perf_counter()
        global_step(summary, state, SETTINGS)
        return time.perf_counter() - start


def time_parts(photos: Photos, posterior: Posterior, state: Globals, repeats: int) -> dict[str, float]:
    globe = steps.put_globals(state, SETTINGS, photos.features)
    chunks = photos.chunks

    def features(chunk: Any, n_slots: int) -> Tensor:
        return photos.features[chunk.first_slot : chunk.first_slot + n_slots]

    def cut(memory: Tensor, n_columns: int) -> Tensor:
        return memory.view(-1)[: len(globe.mean) * K * n_columns].view(-1, K, n_columns)

    def products_only() -> None:
        for c in chunks:
            project(globe.mean, features(c, c.n_slots))

    def sweeps_only() -> None:
        for c in chunks:
            steps.sweep_chunk(c, photos, posterior, globe, cut(projection, c.n_slots))

    def counts_only() -> None:
        for c in chunks:
            steps.count_chunk(c, photos, posterior, globe, cut(dense, c.n_columns))

    def sticks_only() -> None:
        for c in chunks:
            steps.settle_chunk(c, photos, posterior, globe, count[: c.n_photos], update=True)

    def sums_only() -> None:
        for c in chunks:
            sum_products(cut(dense, c.n_columns), features(c, c.n_columns), photos.block)

    projection = project(globe.mean, features(chunks[0], max(c.n_slots for c in chunks)))
    dense = photos.features.new_zeros((len(globe.mean), K, max(c.n_columns for c in chunks)))
    count, _ = steps.count_chunk(chunks[0], photos, posterior, globe, cut(dense, chunks[0].n_columns))
    count = count.repeat(2, 1)
    timed = {
        "project": products_only,
        "sweep": sweeps_only,
        "count": counts_only,
        "sticks": sticks_only,
        "sums": sums_only,
    }
    return {name: time_on_gpu(part, repeats) for name, part in timed.items()}


def repeat_photos(few: Photos, times: int, D: int) -> Photos:
    """The photos' layout so many times one after another, with fresh noise for features."""
    n = times * (len(few.neighbour_start) - 1)
    features = torch.zeros((n + few.block, D), dtype=torch.bfloat16, device=GPU)
    for part in features[:n].split(2**20):
        part.normal_()
    starts = {name: repeat_starts(getattr(few, name), times) for name in few._fields if name.endswith("_start")}
    return few._replace(
        features=features,
        **starts,
        neighbour=few.neighbour.repeat(times),
        weight=few.weight.repeat(times),
        factor=few.factor.repeat(times),
        square=float(n * D),
        n_sticks=few.n_sticks * times,
        log_orders=few.log_orders * times,
        chunks=cut_chunks(starts["slot_start"].cpu().numpy(), few.block),
    )


def repeat_starts(start: Tensor, times: int) -> Tensor:
    total = start[-1]
    shifted = start[:-1] + total * torch.arange(times, device=start.device)[:, None]
    return torch.cat([shifted.flatten(), (total * times)[None]])


def start_of(shard: Shard) -> Local:
    return start_local(shard, STARTS["tags"]([shard], FACTORS, 0), np.ones(PLAN.n_sequences), PLAN)


def shard_of_planted(planted: Planted, X: Any) -> Shard:
    return make_shard(X, planted.tags, planted.groups, Edges(planted.edges, np.ones(len(planted.edges))))


def shard_of(work: Workload) -> Shard:
    return make_shard(work.X, work.tags, work.groups, Edges(work.edges, np.ones(len(work.edges))))


def make_shard(X: Any, tags: Any, groups: Any, edges: Edges) -> Shard:
    allowed = np.hstack([tags, np.ones((len(tags), N_FREE), np.uint8)])
    layout = lay_out(groups, allowed, edges, PLAN)
    return Shard(X, layout, sum_squares(X, layout.rows))


def time_on_gpu(work: Callable[[], object], repeats: int) -> float:
    """Median seconds by the GPU's own clock."""
    work()
    times: list[float] = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return median(times)


if __name__ == "__main__":
    main()
