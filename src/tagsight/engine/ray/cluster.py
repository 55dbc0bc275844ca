"""The Ray cluster at hand: joined, started, asked and left."""

import logging
import os
import pickle
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from tagsight.errors import InputError, TagsightError
from tagsight.runtime.interrupts import POLL, SIGNALS, check_stop
from tagsight.storage.files import can_write

PATIENCE = 10  # seconds in which a cluster must answer
REINSTALL = 0.01  # seconds between two installations of handlers while Ray drops them
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
        else:
            provide_token()
        with _keep_handlers():
            ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, **options)
    except Exception as problem:  # Ray itself raises bare ones, for instance when its own start takes too long
        raise InputError(_explain(address, _first_line(problem).rstrip("."))) from problem
    try:
        check_stop()
        yield
    finally:
        _leave_cluster()


def provide_token() -> None:
    """Give a cluster that starts on this machine a token of its own where Ray cannot write one to the home folder."""
    place = Path.home() / ".ray"
    if not (place / "auth_token").exists() and not can_write(place) and "RAY_AUTH_TOKEN_PATH" not in os.environ:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def count_processors() -> int:
    """Processors of the cluster."""
    import ray

    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def fetch(references: Any) -> Any:
    """What the cluster made; an error is that of the task, or one sentence about the cluster."""
    import ray
    from ray.exceptions import RayError, RayTaskError

    try:
        _await_all(references)
        return ray.get(references)
    except RayTaskError as problem:
        raise problem.cause from problem
    except RayError as problem:
        *_, last = str(problem).strip().splitlines()  # of a traceback the error itself
        raise TagsightError(f"the Ray cluster failed: {last.strip()}") from problem


def _await_all(references: Any) -> None:
    """Wait for one reference or a list of them, and check for signals meanwhile."""
    import ray

    waiting = references if isinstance(references, list) else [references]
    while waiting:
        check_stop()
        _, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=POLL, fetch_local=False)


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
def _keep_handlers() -> Iterator[None]:
    """Keep the handlers of signals while Ray starts.

    Ray installs one for SIGTERM that raises SystemExit, and the process aborts where that interrupts Ray's own start.
    Its compiled part replaces handlers too, so they are installed again afterwards.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    with patch.object(signal, "signal", lambda number, handler: before.get(number)):
        yield
    _install(before)


def _leave_cluster() -> None:
    """Shut Ray down, in a thread: its compiled part drops handlers of signals, and only this one may install them."""
    import ray

    if threading.current_thread() is not threading.main_thread():
        ray.shutdown()
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    leaving = threading.Thread(target=ray.shutdown)
    leaving.start()
    while leaving.is_alive():
        leaving.join(REINSTALL)
        _install(before)


def _install(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


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
