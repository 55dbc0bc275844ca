"""Worker processes of this machine that call one function for many items.

A worker is a new interpreter that imports the function's module and never `__main__`, so a script needs no guard, and a
notebook, `python -c` and a program on standard input may use workers too. A worker is connected to the process that
started it. The connection closes when that process ends, however it ends, and the worker then ends at once.
"""

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.spawn import get_executable
from queue import SimpleQueue
from typing import Any, NamedTuple, NoReturn, TypeVar

from tagsight.errors import TagsightError
from tagsight.runtime.interrupts import POLL, SIGNALS, check_stop

MAX_SERIAL_PHOTOS = 4  # photos for which starting workers takes longer than the work
AHEAD = 2  # items requested per worker before their results are needed
START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from tagsight.runtime.workers import run_worker; run_worker(int(sys.argv[2]))"
)

A = TypeVar("A")
B = TypeVar("B")


def map_in_workers(
    function: Callable[[A], B], items: Iterable[A], n_workers: int, *, ahead: int | None = None
) -> Iterator[B]:
    """As `map`, in `n_workers` processes; at most `ahead` results are requested before they are needed.

    The function and the items are pickled. An exception of the function is raised here.
    """
    ahead = ahead or AHEAD * n_workers
    idle: SimpleQueue[_Worker] = SimpleQueue()

    def call(item: A) -> B:
        worker = idle.get()
        try:
            return worker.call(item)
        finally:
            idle.put(worker)

    with ThreadPoolExecutor(n_workers) as threads, ExitStack() as stack:
        for _ in range(n_workers):
            idle.put(stack.enter_context(_start_worker(function)))
        waiting: deque[Future[B]] = deque()
        stack.callback(lambda: [future.cancel() for future in waiting])
        for item in items:
            waiting.append(threads.submit(call, item))
            if len(waiting) >= ahead:
                yield _await_result(waiting.popleft())
        while waiting:
            yield _await_result(waiting.popleft())


def _await_result(future: Future[B]) -> B:
    while not wait([future], POLL).done:
        check_stop()
    check_stop()
    return future.result()


class _Result(NamedTuple):
    value: Any
    error: Exception | None = None


class _Worker(NamedTuple):
    """A worker process and the connection to it."""

    process: "subprocess.Popen[bytes]"
    connection: "Connection[Any, Any]"

    def call(self, item: Any) -> Any:
        """What the function returns for an item."""
        try:
            self.connection.send(item)
            result: _Result = self.connection.recv()
        except (EOFError, ConnectionError) as problem:
            code = self.process.wait()
            how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            raise TagsightError(
                f"a worker process ended ({how}); if memory is short, run again with fewer workers"
            ) from problem
        if result.error is not None:
            raise result.error
        return result.value


@contextmanager
def _start_worker(function: Callable[[Any], Any]) -> Generator[_Worker]:
    """Start a worker that calls the function; it is killed at the end of the block, which leaves no partial files."""
    paths = [os.path.abspath(path) for path in sys.path]  # an empty entry is the current folder
    own_end, worker_end = (Connection(end.detach()) for end in socket.socketpair())
    command = [get_executable() or sys.executable, "-P", "-c", START, json.dumps(paths), str(worker_end.fileno())]
    with own_end:
        # The worker starts with these signals blocked: Ctrl-C reaches every process of a terminal, and only the process
        # that started the workers handles it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            with worker_end:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2, pass_fds=[worker_end.fileno()])
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        try:
            with suppress(ConnectionError):  # it has ended: the first call raises the reason
                own_end.send(function)
            yield _Worker(process, own_end)
        finally:
            process.kill()
            process.wait()


def run_worker(descriptor: int) -> NoReturn:
    """Run a worker process: the function is received first, then items, and a result is sent for each."""
    connection = Connection(descriptor)
    received: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(connection, received), daemon=True).start()
    function = pickle.loads(received.get())
    while True:
        result = _pickle(_call(function, pickle.loads(received.get())))
        try:
            connection.send_bytes(result)
        except ConnectionError:  # the process that started this one has ended
            os._exit(1)


def _pickle(result: _Result) -> bytes:
    """The result as bytes; if it cannot be pickled, an error that states so."""
    try:
        return pickle.dumps(result)
    except (pickle.PicklingError, TypeError, AttributeError) as problem:
        reason = result.error or f"its result cannot be sent back: {problem}"
        return pickle.dumps(_Result(None, TagsightError(f"a worker process failed: {reason}")))


def _receive(connection: "Connection[Any, Any]", received: "SimpleQueue[bytes]") -> None:
    """Queue what is received, and end the process when the other end is closed."""
    try:
        while True:
            received.put(connection.recv_bytes())
    except (EOFError, ConnectionError):
        os._exit(1)


def _call(function: Callable[[Any], Any], item: Any) -> _Result:
    try:
        return _Result(function(item))
    except Exception as error:  # of any kind: it is raised again by the process that started this one
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        return _Result(None, error)
