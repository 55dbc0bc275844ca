"""Listening: on this machine only, unless a token says who may come."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address

import uvicorn

from tagsight.errors import InputError
from tagsight.index import Index
from tagsight.web.app import make_app
from tagsight.web.guard import LOOPBACK_NAMES

SHORTEST_TOKEN = 12
_TOKEN = re.compile(r"[\x21-\x7e]+")


def serve(index: Index, *, host: str, port: int, token: str | None) -> None:
    """Serve until interrupted."""
    check_token(host, token)
    with listen(host, port) as listening:
        make_server(index, host=host, token=token).run([listening])


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


def make_server(index: Index, *, host: str, token: str | None) -> uvicorn.Server:
    """A server that is given its sockets."""
    names = LOOPBACK_NAMES | {bracket(host).lower()}
    return uvicorn.Server(
        uvicorn.Config(
            make_app(index, token=token, names=names),
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
