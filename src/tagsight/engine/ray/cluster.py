"""The Ray cluster at hand: joined, started, asked and left."""

import logging
import os
import pickle
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar

from tagsight.errors import InputError, TagsightError

PATIENCE = 10  # seconds in which a cluster must answer
AHEAD = 3  # tasks asked for a processor before their results are needed

A = TypeVar("A")
B = TypeVar("B")


def check_ray() -> None:
    """Raise InputError, with the remedy, unless Ray is installed."""
    if find_spec("ray") is None:
        raise InputError("engine 'ray' needs Ray: pip install 'tagsight[ray]', or choose engine 'local'")


@contextmanager
def join_cluster(address: str | None = None) -> Iterator[None]:
    """Within the block this process is part of the cluster at `address`, or else at $RAY_ADDRESS.

    Without either a cluster is started on this machine. Where the process is part of one already, that is used, and
    left as it was.
    """
    check_ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody is told that it ran
    import ray

    if ray.is_initialized():
        yield
        return
    address = address or os.environ.get("RAY_ADDRESS")
    options: dict[str, Any] = {} if address else {"include_dashboard": False}
    try:
        if address:
            _knock(address)
        with _keep_handler(signal.SIGTERM):
            ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, **options)
    except Exception as problem:  # Ray itself raises bare ones, for instance when its own start takes too long
        raise InputError(_explain(address, _first_line(problem).rstrip("."))) from problem
    try:
        yield
    finally:
        ray.shutdown()


def count_processors() -> int:
    """Processors of the cluster."""
    import ray

    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def fetch(references: Any) -> Any:
    """What the cluster made; an error is that of the task, or one sentence about the cluster."""
    import ray
    from ray.exceptions import RayError, RayTaskError

    try:
        return ray.get(references)
    except RayTaskError as problem:
        raise problem.cause from problem
    except RayError as problem:
        *_, last = str(problem).strip().splitlines()  # of a traceback the error itself
        raise TagsightError(f"the Ray cluster failed: {last.strip()}") from problem


def map_on_cluster(function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
    """As `map`, on all processors of the cluster; a few results are made ahead of their use."""
    import ray

    call = ray.remote(_call)
    shared = ray.put(pickle.dumps(function))  # as bytes: arrays of the object store itself cannot be written to
    waiting: list[Any] = []
    for item in items:
        waiting.append(call.remote(shared, item))
        if len(waiting) >= AHEAD * count_processors():
            yield fetch(waiting.pop(0))
    for reference in waiting:
        yield fetch(reference)


def _explain(address: str | None, reason: str) -> str:
    if address is None:
        return f"no Ray cluster starts on this machine: {reason}; try again, or choose engine 'local'"
    return (
        f"no Ray cluster can be joined at {address!r}: {reason}; start one with 'ray start --head', "
        "or leave the address out to have one on this machine"
    )


@contextmanager
def _keep_handler(number: signal.Signals) -> Iterator[None]:
    """Ray puts a handler of its own in the place of ours."""
    before = signal.getsignal(number)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(number, before)


def _knock(address: str) -> None:
    """Find out in seconds what Ray itself takes minutes to say: that nobody is there."""
    if address.startswith("ray://"):
        raise ValueError("Ray Client is not enough; work on a machine of the cluster, with the address 'auto'")
    host, _, port = address.rpartition(":")
    if host:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()


def _call(function: bytes, item: Any) -> Any:
    return pickle.loads(function)(item)


def _first_line(problem: Exception) -> str:
    return str(problem).strip().splitlines()[0]
