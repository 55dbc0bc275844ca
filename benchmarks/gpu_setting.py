"""Settings of the model, shards and a clock for the GPU benchmarks."""

from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch

from tagsight.model.layout import Edges, Shard, lay_out, sum_squares
from tagsight.model.settings import Factors, Settings, plan_sticks
from tagsight.model.start import STARTS, start_local
from tagsight.model.state import Local
from workload import N_ATTRIBUTES, N_FREE, N_OBJECTS, Workload

FACTORS = Factors(N_OBJECTS, N_ATTRIBUTES, N_FREE)
SETTINGS = Settings(FACTORS)  # both fields on
PLAN = plan_sticks(SETTINGS)
GPU = torch.device("cuda")
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def shard_of(work: Workload) -> Shard:
    return make_shard(work.X, work.tags, work.groups, work.edges)


def make_shard(X: Any, tags: Any, groups: Any, edges: Any) -> Shard:
    allowed = np.hstack([tags, np.ones((len(tags), N_FREE), np.uint8)])
    layout = lay_out(groups, allowed, Edges(edges, np.ones(len(edges))), PLAN)
    return Shard(X, layout, sum_squares(X, layout.rows))


def start_of(shard: Shard) -> Local:
    return start_local(shard, STARTS["tags"]([shard], FACTORS, 0), np.ones(PLAN.n_sequences), PLAN)


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
