"""A local step whose launches are recorded once (a CUDA graph) and then repeated by one call.

A step has about forty launches, most of them short. Launched one by one they make a sweep over photos of aPascal's size
a fifth longer.
"""

from typing import NamedTuple
from weakref import WeakSet

import torch
from torch import Tensor

from tagsight.engine.cuda.local_step import (
    Totals,
    compute_potentials,
    compute_totals,
    cuda_local_step,
    list_globals,
    make_summary,
)
from tagsight.engine.cuda.resident import Photos, Posterior
from tagsight.engine.cuda.transfer import cut, fetch, join, pack
from tagsight.model.settings import Settings
from tagsight.model.state import Globals, SummaryStatistics

# Recordings never run at the same time, so all can share the memory of their temporary arrays.
_recorded: WeakSet[torch.cuda.CUDAGraph] = WeakSet()


class _Recording(NamedTuple):
    graph: torch.cuda.CUDAGraph
    inputs: Tensor  # the globals, flat
    total: Totals  # only the shapes are used
    outputs: Tensor  # `total`, flat


class RecordedStep:
    """Local steps over `photos` that update `posterior` in place."""

    def __init__(self, photos: Photos, posterior: Posterior, settings: Settings):
        self._photos = photos
        self._posterior = posterior
        self._settings = settings
        self._compiled = False
        self._recording: _Recording | None = None

    def __call__(self, state: Globals) -> SummaryStatistics:
        """See `cuda_local_step`. The first step compiles the kernels, the second records them, except on a CPU."""
        photos, settings = self._photos, self._settings
        if not self._compiled:
            self._compiled = photos.features.is_cuda
            return cuda_local_step(photos, self._posterior, state, settings, settings.passes)
        recording = self._recording = self._recording or self._record(state)
        recording.inputs.copy_(pack(list_globals(state), recording.inputs.device), non_blocking=True)
        recording.graph.replay()
        return make_summary(fetch(recording.outputs, recording.total), photos, settings)

    def _record(self, state: Globals) -> _Recording:
        photos, settings = self._photos, self._settings
        values = list_globals(state)
        inputs = pack(values, photos.features.device).to(photos.features.device)
        graph = torch.cuda.CUDAGraph()
        shared = next((other.pool() for other in _recorded), None)
        with torch.cuda.graph(graph, pool=shared, capture_error_mode="thread_local"):
            potentials = compute_potentials(cut(inputs, values), settings, photos.features.dtype)
            total = compute_totals(photos, self._posterior, potentials, settings.passes)
            outputs = join(total)
        _recorded.add(graph)
        return _Recording(graph, inputs, total, outputs)
