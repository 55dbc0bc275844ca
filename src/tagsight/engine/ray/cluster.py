"""Connection to a Ray cluster: join or start one, run tasks on it, leave it."""

import logging
import os
import pickle
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar, overload
from unittest.mock import patch

from tagsight.errors import InputError, TagsightError
from tagsight.runtime.interrupts import POLL, SIGNALS, check_stop
from tagsight.storage.files import can_write

if TYPE_CHECKING:
    from ray import ObjectRef

CONNECT_TIMEOUT = 10  # seconds to wait for an answer of a cluster
REINSTALL = 0.01  # seconds between two installations of signal handlers while Ray removes them
AHEAD = 3  # tasks submitted per core before their results are needed

A = TypeVar("A")
B = TypeVar("B")
Handler = Callable[[int, FrameType | None], Any] | int | None  # of a signal


def check_ray() -> None:
    """Raise InputError, with the remedy, unless Ray is installed."""
    if find_spec("ray") is None:
        raise InputError("engine 'ray' needs Ray: pip install 'tagsight[ray]', or choose engine 'local'")


@contextmanager
def join_cluster(address: str | None = None) -> Generator[None, None, None]:
    """Join the cluster at `address`, by default at $RAY_ADDRESS, for the block.

    Without either, a cluster is started on this machine. If the process is already part of a cluster, that one is used
    and not left afterwards.
    """
    check_ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if ray.is_initialized():
        yield
        return
    address = address or os.environ.get("RAY_ADDRESS")
    options: dict[str, Any] = {} if address else {"include_dashboard": False}
    try:
        if address:
            _check_address(address)
        else:
            provide_token()
        with _keep_handlers():
            ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, **options)
    except Exception as problem:  # Ray raises plain Exceptions, for instance when its own start times out
        raise InputError(_explain(address, _first_line(problem).rstrip("."))) from problem
    try:
        check_stop()
        yield
    finally:
        _leave_cluster()


def provide_token() -> None:
    """Set an authentication token for a local cluster if Ray cannot write one to the home folder."""
    place = Path.home() / ".ray"
    if not (place / "auth_token").exists() and not can_write(place) and "RAY_AUTH_TOKEN_PATH" not in os.environ:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def count_cores() -> int:
    """Return the number of CPU cores of the cluster."""
    import ray

    return max(1, int(ray.cluster_resources().get("CPU", 1)))


@overload
def fetch(references: "ObjectRef[B]") -> B: ...


@overload
def fetch(references: "list[ObjectRef[B]]") -> list[B]: ...


def fetch(references: "ObjectRef[Any] | list[ObjectRef[Any]]") -> Any:
    """Return the results of references; raise the error of a failed task, or TagsightError if the cluster failed."""
    import ray
    from ray.exceptions import RayError, RayTaskError

    try:
        _await_all(references)
        return ray.get(references)
    except RayTaskError as problem:
        raise problem.cause from problem
    except RayError as problem:
        *_, last = str(problem).strip().splitlines()  # the last line of a traceback is the error
        raise TagsightError(f"the Ray cluster failed: {last.strip()}") from problem


def _await_all(references: "ObjectRef[Any] | list[ObjectRef[Any]]") -> None:
    """Wait for one reference or a list of them, and check for stop signals meanwhile."""
    import ray

    waiting = references if isinstance(references, list) else [references]
    while waiting:
        check_stop()
        _, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=POLL, fetch_local=False)


def map_on_cluster(function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
    """Map a function over items on all cores of the cluster; a few results are computed ahead of their use."""
    import ray

    call = ray.remote(_call)
    shared = ray.put(pickle.dumps(function))  # as bytes, because arrays in the object store are read-only
    waiting: list[ObjectRef[B]] = []
    for item in items:
        waiting.append(call.remote(shared, item))
        if len(waiting) >= AHEAD * count_cores():
            yield fetch(waiting.pop(0))
    for reference in waiting:
        yield fetch(reference)


def _explain(address: str | None, reason: str) -> str:
    if address is None:
        return f"no Ray cluster could be started on this machine: {reason}; try again, or choose engine 'local'"
    return (
        f"no Ray cluster could be joined at {address!r}: {reason}; start one with 'ray start --head', "
        "or omit the address to start one on this machine"
    )


@contextmanager
def _keep_handlers() -> Generator[None, None, None]:
    """Keep the signal handlers of this process while Ray starts.

    Ray installs a SIGTERM handler that raises SystemExit, which aborts the process if it interrupts Ray's own start.
    Its compiled part replaces handlers too, so they are installed again afterwards.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Handler] = {number: signal.getsignal(number) for number in SIGNALS}

    def keep(number: int, handler: Handler) -> Handler:
        return before.get(number)

    with patch.object(signal, "signal", keep):
        yield
    _install(before)


def _leave_cluster() -> None:
    """Shut Ray down in a thread while the main thread reinstalls the signal handlers that Ray removes."""
    import ray

    if threading.current_thread() is not threading.main_thread():
        ray.shutdown()
        return
    before: dict[int, Handler] = {number: signal.getsignal(number) for number in SIGNALS}
    leaving = threading.Thread(target=ray.shutdown)
    leaving.start()
    while leaving.is_alive():
        leaving.join(REINSTALL)
        _install(before)


def _install(handlers: Mapping[int, Handler]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _check_address(address: str) -> None:
    """Raise an error if nothing listens at the address; Ray itself takes minutes to report that."""
    if address.startswith("ray://"):
        raise ValueError("Ray Client is not supported; run on a machine of the cluster, with address 'auto'")
    host, _, port = address.rpartition(":")
    if host:
        socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT).close()


def _call(function: bytes, item: Any) -> Any:
    return pickle.loads(function)(item)


def _first_line(problem: Exception) -> str:
    return str(problem).strip().splitlines()[0]
