"""The HTTP server. It accepts connections from this machine only, unless a token is required."""

import asyncio
import re
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from ipaddress import ip_address

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tagsight.errors import InputError
from tagsight.index import Index
from tagsight.runtime.interrupts import STOP, check_stop
from tagsight.web.app import create_app
from tagsight.web.security import BODY_TIMEOUT, LOOPBACK_NAMES

MIN_TOKEN = 12
HEADERS_TIMEOUT = 20.0  # seconds from the start of a connection or request to the end of its headers
UNREAD_BODY_TIMEOUT = BODY_TIMEOUT + 5.0  # seconds to the end of a body; later than the response of status 408
TIMEOUT_RESPONSE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_TOKEN = re.compile(r"[\x21-\x7e]+")


class TimedProtocol(H11Protocol):
    """HTTP/1.1 with time limits for the headers and the body of a request; a late client is disconnected.

    `SecurityMiddleware` limits the time of a body that the application reads. This class limits the time of a body
    that nobody reads: the response is sent at once, and the rest of the body would keep the connection open.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Start the time limit of the headers."""
        super().connection_made(transport)
        self._start_timer(HEADERS_TIMEOUT, TIMEOUT_RESPONSE)

    def data_received(self, data: bytes) -> None:
        """Start a time limit at the first byte of the headers or the body, and cancel it at the last."""
        before = self.conn.their_state
        if self._timer is None and before is h11.IDLE:
            self._start_timer(HEADERS_TIMEOUT, TIMEOUT_RESPONSE)
        super().data_received(data)
        after = self.conn.their_state
        if before is h11.IDLE and after is not h11.IDLE:
            self._stop_timer()
            if after is h11.SEND_BODY:
                self._start_timer(UNREAD_BODY_TIMEOUT, b"")
        elif before is h11.SEND_BODY and after is not h11.SEND_BODY:
            self._stop_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time limit."""
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
    """Serve until the process receives a stop signal. `on_listening` is called as soon as clients can connect."""
    check_token(host, token)
    with listen(host, port) as sock:
        on_listening()
        create_server(index, host=host, token=token).run([sock])
    check_stop()


class Server(uvicorn.Server):
    """A server that stops after a signal, and leaves signal handlers of `tagsight.runtime.interrupts` in place."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Install the signal handlers of uvicorn, unless tagsight handles signals."""
        with nullcontext() if STOP.handled else super().capture_signals():
            yield

    async def on_tick(self, counter: int) -> bool:
        """Whether the server must stop; uvicorn calls this ten times per second."""
        return await super().on_tick(counter) or STOP.signal is not None


def create_server(index: Index, *, host: str, token: str | None) -> Server:
    """A server of an index; it listens on the sockets that `run` receives."""
    host_names = LOOPBACK_NAMES | {format_host(host).lower()}
    return Server(
        uvicorn.Config(
            create_app(index, token=token, host_names=host_names),
            http=TimedProtocol,
            log_level="warning",  # the access log would contain tokens from ?token=
            server_header=False,
            timeout_keep_alive=20,
        )
    )


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on an address of this machine."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as problem:
        address, reason = f"{format_host(host)}:{port}", problem.strerror or problem
        raise InputError(f"cannot listen on {address}: {reason}; choose another --port or --host") from problem


def format_host(host: str) -> str:
    """A host as it is written before a port: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host else host


def check_token(host: str, token: str | None) -> None:
    """Raise an error if the token is missing on an address that other machines can reach, or too weak."""
    if token is None:
        if not is_loopback(host):
            raise InputError(
                f"other machines can reach {host!r}, so a token is required; set it with --token or TAGSIGHT_TOKEN"
            )
    elif len(token) < MIN_TOKEN or not _TOKEN.fullmatch(token):
        raise InputError(
            f"the token must have {MIN_TOKEN} or more letters, digits or symbols and no space; "
            "'openssl rand -hex 16' prints one"
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
