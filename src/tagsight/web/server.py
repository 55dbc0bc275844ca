"""Listening: on this machine only, unless a token says who may come."""

import asyncio
import re
import socket
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from ipaddress import ip_address

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tagsight.errors import InputError
from tagsight.index import Index
from tagsight.runtime.interrupts import STOP, check_stop
from tagsight.web.app import make_app
from tagsight.web.guard import LOOPBACK_NAMES, SLOWEST_BODY

SHORTEST_TOKEN = 12
SLOWEST_HEADERS = 20.0  # seconds from the start of a connection or request to the end of its headers
SLOWEST_REST = SLOWEST_BODY + 5.0  # seconds from there to the end of the body; whoever waits for it answers before
TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_TOKEN = re.compile(r"[\x21-\x7e]+")


class TimedProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection whose request is not complete in time: its headers, and then its body.

    The guard answers in time where a body is waited for. Where it is not, the answer is sent at once, and the rest of
    the body would keep the connection open for as long as the client likes.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Start the time limit."""
        super().connection_made(transport)
        self._start_timer(SLOWEST_HEADERS, TOO_LATE)

    def data_received(self, data: bytes) -> None:
        """Start the time limits with the first byte of headers and of the body, and end them with the last."""
        before = self.conn.their_state
        if self._timer is None and before is h11.IDLE:
            self._start_timer(SLOWEST_HEADERS, TOO_LATE)
        super().data_received(data)
        after = self.conn.their_state
        if before is h11.IDLE and after is not h11.IDLE:
            self._stop_timer()
            if after is h11.SEND_BODY:
                self._start_timer(SLOWEST_REST, b"")
        elif before is h11.SEND_BODY and after is not h11.SEND_BODY:
            self._stop_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the time limit."""
        self._stop_timer()
        super().connection_lost(exc)

    def _start_timer(self, seconds: float, answer: bytes) -> None:
        self._timer = self.loop.call_later(seconds, self._close_late, answer)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_late(self, answer: bytes) -> None:
        if answer:
            self.transport.write(answer)
        self.transport.close()


def serve(
    index: Index, *, host: str, port: int, token: str | None, on_listening: Callable[[], None] = lambda: None
) -> None:
    """Serve until a signal comes; `on_listening` is called as soon as clients can connect."""
    check_token(host, token)
    with listen(host, port) as listening:
        on_listening()
        make_server(index, host=host, token=token).run([listening])
    check_stop()


@contextmanager
def serve_in_thread(index: Index, *, host: str = "127.0.0.1", token: str | None = None) -> Iterator[str]:
    """The address of a server on a free port, for as long as the block lasts: for notebooks and tests."""
    check_token(host, token)
    with listen(host, 0) as listening:
        server = make_server(index, host=host, token=token)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://{bracket(host)}:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class Server(uvicorn.Server):
    """A server that ends after a signal; those that `tagsight.runtime.interrupts` handles are left to it."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Install handlers where there are none."""
        with nullcontext() if STOP.heeded else super().capture_signals():
            yield

    async def on_tick(self, counter: int) -> bool:
        """Whether to end; asked ten times a second."""
        return await super().on_tick(counter) or STOP.asked is not None


def make_server(index: Index, *, host: str, token: str | None) -> Server:
    """A server that is given its sockets."""
    names = LOOPBACK_NAMES | {bracket(host).lower()}
    return Server(
        uvicorn.Config(
            make_app(index, token=token, names=names),
            http=TimedProtocol,
            log_level="warning",  # the access log would show ?token=
            server_header=False,
            timeout_keep_alive=20,
        )
    )


def listen(host: str, port: int) -> socket.socket:
    """A socket on an address of this machine."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as problem:
        raise InputError(
            f"cannot listen on {bracket(host)}:{port}: {problem.strerror or problem}; choose another --port or --host"
        ) from problem


def bracket(host: str) -> str:
    """An address as it stands before a port."""
    return f"[{host}]" if ":" in host else host


def check_token(host: str, token: str | None) -> None:
    """Who is not on this machine needs a token, and not a short one."""
    if token is None:
        if not is_loopback(host):
            raise InputError(
                f"to serve on {host!r}, which others can reach, give a token with --token or TAGSIGHT_TOKEN"
            )
    elif len(token) < SHORTEST_TOKEN or not _TOKEN.fullmatch(token):
        raise InputError(
            f"a token has {SHORTEST_TOKEN} or more letters, digits or signs and no space; "
            "'openssl rand -hex 16' makes one"
        )


def is_loopback(host: str) -> bool:
    """Whether an address leads to this machine and nowhere else."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
