"""Ctrl-C and SIGTERM: at once where nothing is lost, else when the work at hand can be kept."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tagsight.errors import StoppedError

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Whether someone asked to stop."""

    def __init__(self) -> None:
        self.asked: int | None = None  # the signal
        self._waits = False

    @contextmanager
    def after_sweep(self) -> Iterator[None]:
        """A first signal waits for `check`; who sends a second does not want to wait."""
        self._waits = True
        try:
            yield
        finally:
            self._waits = False

    def check(self) -> None:
        """Raise StoppedError if someone asked."""
        if self.asked is not None:
            raise StoppedError(self.asked)

    def receive(self, number: int, frame: FrameType | None = None) -> None:
        """Take notice of a signal."""
        insists, self.asked = self.asked is not None, number
        if insists or not self._waits:
            raise StoppedError(number)


@contextmanager
def heed_signals() -> Iterator[Stop]:
    """What knows of signals while the block runs; in the main thread only, as Python wants it."""
    stop = Stop()
    before = {number: signal.signal(number, stop.receive) for number in SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
