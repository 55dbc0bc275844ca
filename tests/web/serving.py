"""A server of an index in a thread of the test."""

import threading
from collections.abc import Generator
from contextlib import contextmanager

from tagsight.index import Index
from tagsight.web.server import check_token, create_server, format_host, listen


@contextmanager
def serve_in_thread(index: Index, *, host: str = "127.0.0.1", token: str | None = None) -> Generator[str]:
    """Serve on a free port while the block runs, and yield the address."""
    check_token(host, token)
    with listen(host, 0) as sock:
        server = create_server(index, host=host, token=token)
        thread = threading.Thread(target=server.run, args=([sock],))
        thread.start()
        try:
            yield f"http://{format_host(host)}:{sock.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
