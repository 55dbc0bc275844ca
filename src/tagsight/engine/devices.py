"""Compute targets by name: the devices and engines that run local steps."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tagsight.engine.local.threads import ThreadBatch, thread_map
from tagsight.engine.ray.cluster import check_ray, join_cluster, map_on_cluster
from tagsight.errors import InputError
from tagsight.model.fit import FitBatch
from tagsight.model.layout import Shard
from tagsight.model.settings import Settings
from tagsight.model.state import Local
from tagsight.model.validation import check_choice

PRECISIONS = {"cuda": "float32", "cuda-bf16": "bfloat16"}  # type of the features on the GPU
DEVICES = ("cpu", *PRECISIONS)
ENGINES = ("local", "ray")


class ComputeTarget(NamedTuple):
    """The hardware that runs local steps."""

    device: str = "cpu"  # one of DEVICES
    engine: str = "local"  # one of ENGINES
    n_workers: int | None = None  # threads, or actors of engine "ray"; None: one per core


class CheckpointableBatch(FitBatch, Protocol):
    """A batch whose local posterior can be saved in a checkpoint."""

    def save(self, folder: Path, *, with_previous: bool) -> None:
        """Save the local posterior and, if `with_previous`, the one that `restore` returns to."""
        ...


class LocalBatch(CheckpointableBatch, Protocol):
    """A batch that gives access to its shard and local posterior."""

    shard: Shard

    @property
    def local(self) -> Local:
        """The local posterior."""
        ...


class MakeBatch(Protocol):
    """Constructor of batches on one compute target."""

    def __call__(self, shard: Shard, local: Local, settings: Settings, *, previous: Local | None = None) -> LocalBatch:
        """Return the batch of a shard with its local posterior, and the one that `restore` returns to."""
        ...


def check_device(name: str) -> None:
    """Raise InputError, with the remedy, unless local steps can run on device `name`."""
    check_choice(name, "device", DEVICES)
    if name == "cpu":
        return
    if find_spec("torch") is None:
        raise InputError(f"device {name!r} needs PyTorch: pip install 'tagsight[torch]', or choose device 'cpu'")
    if not import_module("torch").cuda.is_available():
        raise InputError(f"device {name!r} needs an NVIDIA GPU, and PyTorch finds none: choose device 'cpu'")
    if find_spec("triton") is None:
        raise InputError(f"device {name!r} needs Triton: pip install triton, or choose device 'cpu'")


def check_engine(name: str, device: str) -> None:
    """Raise InputError, with the remedy, unless engine `name` can run local steps on the device."""
    check_choice(name, "engine", ENGINES)
    if name == "ray":
        if device != "cpu":
            raise InputError(f"engine 'ray' runs on CPU cores only: choose device 'cpu' instead of {device!r}")
        check_ray()


@contextmanager
def open_engine(name: str, address: str | None = None) -> Generator[Callable[..., Iterator[Any]] | None, None, None]:
    """Join the cluster of engine `name`, at `address`, for the block, and yield a map function that runs on it.

    Yields None for engine "local".
    """
    if name == "ray":
        with join_cluster(address):
            yield map_on_cluster
    elif address is not None:
        raise InputError(f"address {address!r} belongs to a Ray cluster: choose engine 'ray', or omit the address")
    else:
        yield None


@contextmanager
def open_batches(target: ComputeTarget) -> Generator[MakeBatch, None, None]:
    """Yield the constructor of batches on a target that `check_device` and `check_engine` accept."""
    if target.engine == "ray":
        from tagsight.engine.ray.batch import open_ray_batches

        with open_ray_batches(target.n_workers) as make_batch:
            yield make_batch
        return
    with thread_map(target.n_workers) as run:
        if target.device == "cpu":
            yield partial(ThreadBatch, run=run)
        else:
            from tagsight.engine.cuda.batch import CudaBatch

            torch = import_module("torch")
            dtype = getattr(torch, PRECISIONS[target.device])
            yield partial(CudaBatch, device=torch.device("cuda"), dtype=dtype)
