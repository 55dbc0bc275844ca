"""Where local steps run, by name."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tagsight.engine.ray.cluster import check_ray, join_cluster, map_on_cluster
from tagsight.engine.threads import ThreadBatch, thread_map
from tagsight.errors import InputError
from tagsight.model.fit import RenewableBatch
from tagsight.model.layout import Shard
from tagsight.model.settings import Settings
from tagsight.model.state import Local
from tagsight.model.validation import check_choice

PRECISIONS = {"cuda": "float32", "cuda-bf16": "bfloat16"}  # of the features on the GPU
DEVICES = ("cpu", *PRECISIONS)
ENGINES = ("local", "ray")


class ComputeTarget(NamedTuple):
    """Where local steps run."""

    device: str = "cpu"
    engine: str = "local"
    n_actors: int | None = None  # of engine "ray"; None: one a processor


class CheckpointableBatch(RenewableBatch, Protocol):
    """A batch whose posterior a checkpoint can keep."""

    def save(self, folder: Path, *, remembered: bool) -> None:
        """Write the local posterior, and the one `restore` goes back to if it is needed."""
        ...


class LocalBatch(CheckpointableBatch, Protocol):
    """A batch that shows its shard and local posterior."""

    shard: Shard

    @property
    def local(self) -> Local:
        """The local posterior."""
        ...


class MakeBatch(Protocol):
    """What makes a batch of a shard and its local posterior, and of the one that `restore` goes back to."""

    def __call__(self, shard: Shard, local: Local, settings: Settings, before: Local | None = None) -> LocalBatch:
        """The batch."""
        ...


def check_device(name: str) -> None:
    """Raise InputError, with the remedy, unless local steps can run on device `name`."""
    check_choice(name, "device", DEVICES)
    if name == "cpu":
        return
    if find_spec("torch") is None:
        raise InputError(f"device {name!r} needs PyTorch: pip install 'tagsight[torch]', or choose device 'cpu'")
    if not import_module("torch").cuda.is_available():
        raise InputError(f"device {name!r} needs an NVIDIA GPU, and PyTorch sees none: choose device 'cpu'")
    if find_spec("triton") is None:
        raise InputError(f"device {name!r} needs Triton: pip install triton, or choose device 'cpu'")


def check_engine(name: str, device: str) -> None:
    """Raise InputError, with the remedy, unless engine `name` can run local steps on the device."""
    check_choice(name, "engine", ENGINES)
    if name == "ray":
        if device != "cpu":
            raise InputError(f"engine 'ray' sweeps on processors: choose device 'cpu' instead of {device!r}")
        check_ray()


@contextmanager
def open_engine(name: str, address: str | None = None) -> Iterator[Callable[..., Iterator[Any]] | None]:
    """What maps a function over items on the cluster that is joined, at `address`, while the block runs.

    None for engine "local": there everyone knows best how to spread the work over this machine.
    """
    if name == "ray":
        with join_cluster(address):
            yield map_on_cluster
    elif address is not None:
        raise InputError(f"address {address!r} is that of a Ray cluster: choose engine 'ray', or leave it out")
    else:
        yield None


@contextmanager
def batches_on(name: str, n_threads: int | None, engine: str = "local") -> Iterator[MakeBatch]:
    """What makes a batch of a shard and its local posterior, on device `name` (see `check_device`, `check_engine`)."""
    if engine == "ray":
        from tagsight.engine.ray.batch import batches_on_ray

        with batches_on_ray(n_threads) as make_batch:
            yield make_batch
        return
    with thread_map(n_threads) as run:
        if name == "cpu":
            yield lambda shard, local, settings, before=None: ThreadBatch(shard, local, settings, run, before)
        else:
            from tagsight.engine.cuda.batch import CudaBatch

            torch = import_module("torch")
            dtype = getattr(torch, PRECISIONS[name])
            device = torch.device("cuda")
            yield lambda shard, local, settings, before=None: CudaBatch(shard, local, settings, device, dtype, before)
