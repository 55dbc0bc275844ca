"""Ctrl-C, SIGTERM and SIGHUP: a handler sets a flag, and the work checks the flag at points where nothing is lost.

A handler never raises an exception. Python calls it at any point of the main thread, and an exception inside a callback
of a compiled library is dropped there: llvmlite then links an empty module in place of a cached kernel, and calling
that kernel crashes the process.
"""

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from tagsight.errors import StoppedError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POLL = 0.2  # seconds after which a wait checks for a signal
SHOW_CURSOR = b"\x1b[?25h"  # a progress bar hides it


class Stop:
    """Whether a signal asked this process to stop, and the advice for the message."""

    def __init__(self) -> None:
        self.signal: int | None = None  # the number of the signal that was received
        self.advice = ""  # how to continue after a stop
        self.handled = False  # whether signals set the flag

    def check(self) -> None:
        """Raise StoppedError if a signal came."""
        if self.signal is not None:
            raise StoppedError(self.signal, self.advice)

    def receive(self, number: int, frame: FrameType | None = None) -> None:
        """Handle a signal: the first sets the flag, a second ends the process at once.

        Files appear whole or not at all and worker processes end with this one, so nothing has to be cleaned up.
        """
        if self.signal is not None:
            _end_process(StoppedError(number, self.advice))
        self.signal = number


STOP = Stop()  # the signals of this process


def check_stop() -> None:
    """Raise StoppedError if a signal asked this process to stop."""
    STOP.check()


def install_handlers(advice: str) -> None:
    """Handle signals from now on; signals that the parent process set to be ignored stay ignored."""
    STOP.advice, STOP.handled = advice, True
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, STOP.receive)


def ignore_signals() -> None:
    """Ignore signals from now on: the work is done, and the process ends with its own exit code."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def defer_interrupt() -> Generator[None]:
    """Deliver a SIGINT after the block: for code that drops exceptions, such as a callback from C."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    received: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if received:
            signal.raise_signal(signal.SIGINT)


def _end_process(error: StoppedError) -> NoReturn:
    """End this process at once, with one sentence on standard error; worker processes end with it."""
    ignore_signals()
    start = b"\n" + SHOW_CURSOR if os.isatty(2) else b""
    try:
        os.write(2, start + f"tagsight: {error}\n".encode())
    finally:  # also if standard error is closed
        os._exit(128 + error.signal)
