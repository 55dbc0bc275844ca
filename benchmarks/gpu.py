"""Sweeps on a GPU: agreement with the CPU in double precision, time at two sizes and its bounds; the network.

    python benchmarks/gpu.py            writes results/gpu.json
    python benchmarks/gpu.py --scaling  writes results/scaling_gpu.json: time and memory against the number of photos

A sweep is a local step: the global parameters are copied to the GPU, every photo is updated there, and the summary is
copied back. The global step that follows in a fit runs on the CPU and is timed separately. Upper limits (a copy, matrix
products) are measured in the same run. The parts of a sweep are timed separately, each over all chunks and launch by
launch, so their sum may differ slightly from the time of a whole step.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch import Tensor

from gpu_agreement import compare_with_cpu
from gpu_network import measure_network
from gpu_setting import FACTORS, GPU, PLAN, PRECISIONS, SETTINGS, shard_of, start_of, time_on_gpu
from record import write_result
from tagsight.engine.cuda import local_step as steps
from tagsight.engine.cuda.products import project, sum_products
from tagsight.engine.cuda.recorded_step import RecordedStep
from tagsight.engine.cuda.resident import Photos, Posterior, cut_chunks, upload_photos, upload_posterior
from tagsight.engine.local.threads import thread_map
from tagsight.model.fields import correlate_tags
from tagsight.model.global_step import global_step
from tagsight.model.start import blank_globals, first_globals
from tagsight.model.state import Globals, SummaryStatistics
from workload import N_FREE, draw_workload

K = FACTORS.total
SIZES = (1_000, 10_000, 100_000)  # photos, of --scaling


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--photos", type=int, default=1_000_000, help="photos of the large run; 0 leaves it out")
    parser.add_argument("--scaling", action="store_true", help="only time and memory against the number of photos")
    options = parser.parse_args()
    figures: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    if options.scaling:
        write_result("scaling_gpu", {**figures, **measure_scaling(options.repeats)})
        return
    figures["ceilings"] = measure_ceilings()
    figures["against_cpu_float64"] = compare_with_cpu()
    figures["apascal"] = measure_apascal(options.repeats)
    figures["network"] = measure_network(options.repeats)
    if options.photos:
        figures["large"] = measure_large(options.photos, max(options.repeats // 3, 2))
    write_result("gpu", figures)


def measure_ceilings() -> dict[str, float]:
    """Bytes per second of a copy (read and written), operations per second of products of 8192 x 8192 matrices."""
    source, target = torch.randn(2, 2**30, device=GPU)
    found = {"copy_bytes_per_s": 2 * source.nbytes / time_on_gpu(lambda: target.copy_(source), 10)}
    for name, dtype in PRECISIONS.items():
        a, b = (torch.randn(8192, 8192, device=GPU).to(dtype) for _ in range(2))
        found[f"{name}_flop_per_s"] = 2 * 8192**3 / time_on_gpu(lambda a=a, b=b: a @ b, 10)
    return found


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
    """`n_photos` photos of 80 regions, D = 320, in bfloat16."""
    D = 320
    figures = measure_repeated(n_photos, 2000, D, torch.bfloat16, repeats)
    return {"photos": n_photos, "regions_per_photo": 80, "D": D, "K": K, "bfloat16": figures}


def measure_scaling(repeats: int) -> dict[str, Any]:
    """Seconds per sweep and memory of the GPU against the number of photos; 80 regions, D = 256, both fields."""
    D = 256
    found: dict[str, Any] = {"regions_per_photo": 80, "D": D, "K": K}
    for name, dtype in PRECISIONS.items():
        rows: list[dict[str, Any]] = []
        for n_photos in SIZES:
            figures = measure_repeated(n_photos, SIZES[0], D, dtype, repeats)
            row = {"photos": n_photos, "seconds_per_sweep": figures["step_s"], "bytes": figures["gpu_bytes"]}
            rows.append({**row, "global_step_s": figures["global_step_s"]})
        found[name] = rows
    return found


def measure_repeated(n_photos: int, distinct: int, D: int, dtype: torch.dtype, repeats: int) -> dict[str, Any]:
    """The layout of `distinct` photos, repeated, with new features; also the memory used on the GPU."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    times = n_photos // distinct
    work = draw_workload(distinct, D, seed=0)
    shard = shard_of(work)
    few = upload_photos(shard, PLAN, GPU, dtype)
    local = upload_posterior(start_of(shard), shard.layout, PLAN, GPU)
    posterior = Posterior._make(tensor.repeat(times) for tensor in local)
    photos = repeat_photos(few, times, D)
    figures = measure_sweep(photos, posterior, correlate_tags(work.tags, N_FREE), repeats)
    return {**figures, "gpu_bytes": torch.cuda.max_memory_reserved()}


def measure_sweep(photos: Photos, posterior: Posterior, affinity: Any, repeats: int) -> dict[str, Any]:
    """Median times of a step and of its parts; the bytes and operations that a step needs at least."""
    D = photos.features.shape[1]
    blank = blank_globals(SETTINGS, D)
    first = steps.cuda_local_step(photos, posterior, blank, SETTINGS, 0)
    state = first_globals(first, blank, SETTINGS, affinity)
    one_by_one = time_steps(lambda: steps.cuda_local_step(photos, posterior, state, SETTINGS, 1), 1, repeats)
    record = RecordedStep(photos, posterior, SETTINGS)
    seconds = time_steps(lambda: record(state), 3, repeats)
    step = median(seconds)
    N = len(photos.neighbour_start) - 1
    n_assign, size = len(posterior.assign), photos.features.element_size()
    bytes_moved = 2 * N * D * size + 4 * N * K + 4 * n_assign * 4 + 2 * N * K * size
    operations = 4 * N * D * K + 2 * N * K * K + 2 * n_assign**2 // N
    parts = time_parts(photos, posterior, state, repeats)
    return {
        "step_s": step,
        "fastest_s": min(seconds),
        "launch_by_launch_s": median(one_by_one),
        "active_factors": n_assign / N,
        "global_step_s": median(time_global_step(first, state) for _ in range(repeats)),
        "parts_s": parts,
        "bytes": bytes_moved,
        "bytes_per_s": bytes_moved / step,
        "operations": operations,
        "flop_per_s": operations / step,
    }


def time_steps(step: Callable[[], object], n_warm: int, repeats: int) -> list[float]:
    """Seconds of the processor's clock, after so many that compile and record."""
    for _ in range(n_warm):
        step()
    seconds: list[float] = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return seconds


def time_global_step(summary: SummaryStatistics, state: Globals) -> float:
    """Seconds on the CPU with one thread, as in a fit."""
    with thread_map(1):
        start = time.perf_counter()
        global_step(summary, state, SETTINGS)
        return time.perf_counter() - start


def time_parts(photos: Photos, posterior: Posterior, state: Globals, repeats: int) -> dict[str, float]:
    potentials = steps.upload_globals(state, SETTINGS, photos.features)
    chunks = photos.chunks

    def features(chunk: Any, n_slots: int) -> Tensor:
        return photos.features[chunk.first_slot : chunk.first_slot + n_slots]

    def cut(memory: Tensor, n_columns: int) -> Tensor:
        return memory.view(-1)[: len(potentials.weighted_mean) * K * n_columns].view(-1, K, n_columns)

    def products_only() -> None:
        for c in chunks:
            project(potentials.weighted_mean, features(c, c.n_slots))

    def sweeps_only() -> None:
        for c in chunks:
            steps.sweep_chunk(c, photos, posterior, potentials, cut(projection, c.n_slots))

    def counts_only() -> None:
        for c in chunks:
            steps.count_chunk(c, photos, posterior, potentials, cut(dense, c.n_columns))

    def sticks_only() -> None:
        for c in chunks:
            steps.settle_chunk(c, photos, posterior, potentials, count[: c.n_photos], update=True)

    def sums_only() -> None:
        for c in chunks:
            sum_products(cut(dense, c.n_columns), features(c, c.n_columns), photos.block)

    projection = project(potentials.weighted_mean, features(chunks[0], max(c.n_slots for c in chunks)))
    dense = photos.features.new_zeros((len(potentials.weighted_mean), K, max(c.n_columns for c in chunks)))
    count, _ = steps.count_chunk(chunks[0], photos, posterior, potentials, cut(dense, chunks[0].n_columns))
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
    """The layout of the photos, repeated `times` times, with random noise as features."""
    n = times * (len(few.neighbour_start) - 1)
    features = torch.zeros((n + few.block, D), dtype=few.features.dtype, device=GPU)
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


if __name__ == "__main__":
    main()
