"""Concurrent and slow requests, and a missing index, get the right HTTP status."""

import http.client
import shutil
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tagsight.index import Index, open_index
from tagsight.index.errors import BusyError
from tagsight.index.manifest import read_manifest, write_manifest
from tagsight.web import security, server
from tests.index.made import put_wide_index
from tests.web.conftest import WebFiles
from tests.web.serving import serve_in_thread

CLIENTS = 16
IMAGES = ("picture.jpg", "mask.png", "outline.svg")


def request(address: str, path: str, method: str = "GET", **more: object) -> httpx.Response:
    return httpx.request(method, address + path, timeout=60, trust_env=False, **more)  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of an index with a hundred factors."""
    folder = tmp_path_factory.mktemp("wide")
    put_wide_index(folder)
    with serve_in_thread(open_index(folder)) as address:
        yield address


def test_sixteen_concurrent_clients_get_no_error(wide: str) -> None:
    start = threading.Barrier(CLIENTS)

    def visit(client: int) -> list[tuple[int, str]]:
        start.wait()
        answered: list[tuple[int, str]] = []
        with httpx.Client(base_url=wide, timeout=120, trust_env=False) as session:
            for turn in range(3):
                photo, query = 140 * client + turn, f"attribute{(7 * client + turn) % 80}+object{client % 20}"
                for path in (
                    f"/?q={query}&threshold=0.01",
                    f"/api/photos/{photo}/outline.svg?q={query}",
                    f"/photos/{photo}?q={query}",
                    f"/api/photos/{photo}/like?region={client}&count=5",
                    f"/api/photos/{photo}",
                ):
                    answer = session.get(path)
                    answered.append((answer.status_code, f"{path}: {answer.text[:200]}"))
        return answered

    with ThreadPoolExecutor(CLIENTS) as pool:
        answered = [one for some in pool.map(visit, range(CLIENTS)) for one in some]
    assert len(answered) == CLIENTS * 15
    assert [text for status, text in answered if status != 200] == []


def test_a_busy_index_is_answered_with_503_and_retry_after(index_copy: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Index, *_: object, **__: object) -> None:
        raise BusyError("there is not enough memory for this request now; try again later")

    with serve_in_thread(index_copy) as address:
        for name in ("find", "load_photo", "find_areas", "find_similar", "list_photos"):
            monkeypatch.setattr(Index, name, refuse)
        word = index_copy.manifest.objects[0]
        for path in (f"/?q={word}", "/", "/photos/1"):
            answer = request(address, path)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
            assert answer.headers["content-type"].startswith("text/html")
            assert "not enough memory" in answer.text
        for path in (f"/api/search?q={word}", "/api/photos/1", f"/api/photos/1/outline.svg?q={word}", "/api/photos"):
            answer = request(address, path)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
            assert "not enough memory" in answer.json()["detail"]


def test_a_request_that_takes_too_long_is_answered_with_503(index_copy: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "ANSWER_TIMEOUT", 0.0)
    with serve_in_thread(index_copy) as address:
        answer = request(address, f"/api/search?q={index_copy.manifest.objects[0]}")
        assert (answer.status_code, "took too long" in answer.json()["detail"]) == (503, True)
        assert request(address, "/annotate").status_code == 200, "this page does not use the index"


@pytest.mark.parametrize("loss", ["folder", "manifest", "parts", "garbage", "garbage manifest"])
def test_an_unreadable_index_is_answered_with_503_without_its_path(
    index_copy: Index, loss: str, web_files: WebFiles
) -> None:
    word = index_copy.manifest.objects[0]
    with serve_in_thread(index_copy) as address:
        if loss == "folder":
            shutil.rmtree(index_copy.folder)
        elif loss == "manifest":
            (index_copy.folder / "manifest.json").unlink()
        elif loss == "garbage manifest":
            (index_copy.folder / "manifest.json").write_bytes(b"\x00garbage")
        else:
            for path in [*(index_copy.folder / "parts").iterdir(), *(index_copy.folder / "models").iterdir()]:
                if loss == "parts":
                    path.unlink()
                else:
                    path.write_bytes(b"garbage" * 1000)
        for path in (f"/?q={word}", "/", "/photos/1", "/factors", f"/api/search?q={word}", "/api/photos/1",
                     *(f"/api/photos/1/{name}?q={word}" for name in IMAGES), "/api/photos/1/like",
                     "/api/factors"):  # fmt: skip
            answer = request(address, path)
            assert answer.status_code == 503, (path, answer.text)
            assert "the index cannot be read" in answer.text
            assert answer.headers["retry-after"]
            check_no_paths(answer, index_copy.folder, web_files)
        answer = request(address, "/api/annotate", "POST", content=web_files.unindexed.read_bytes())
        assert answer.status_code == 503
        check_no_paths(answer, index_copy.folder, web_files)


def check_no_paths(answer: httpx.Response, folder: Path, web_files: WebFiles) -> None:
    for path in (folder, web_files.photos, web_files.model, Path.home()):
        assert str(path) not in answer.text


def test_no_error_contains_paths_of_the_server(index_copy: Index, web_files: WebFiles, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    shutil.copytree(web_files.photos, photos)
    write_manifest(index_copy.folder, read_manifest(index_copy.folder)._replace(root=str(photos)))
    first, second, third = index_copy.list_photos(n=3)
    (photos / first.path).write_bytes(b"no photo")
    (photos / second.path).unlink()
    (photos / third.path).unlink()
    (photos / third.path).symlink_to(web_files.unindexed)
    (index_copy.folder / "names.json").write_text("[1")
    with serve_in_thread(index_copy) as address:
        put = {"json": {"name": "x"}}
        for method, path, more in [
            ("GET", "/api/photos/4294967295", {}), ("GET", "/photos/4294967295", {}),
            *(("GET", f"/api/photos/{one.photo}/picture.jpg", {}) for one in (first, second, third)),
            ("PUT", "/api/factors/free-1/name", put), ("DELETE", "/api/factors/free-1/name", {}),
            ("POST", "/factors/free-1/name", {"data": {"name": "x"}}), ("POST", "/factors/free-1/name/remove", {}),
            ("POST", "/api/annotate", {"content": b"no photo"}),
        ]:  # fmt: skip
            answer = request(address, path, method, **more)
            assert answer.status_code >= 400, path
            check_no_paths(answer, tmp_path, web_files)


def test_a_failure_of_the_server_is_reported_in_one_sentence(
    index_copy: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Index, "load_photo", lambda *_: 1 / 0)
    with serve_in_thread(index_copy) as address:
        api, page = request(address, "/api/photos/1"), request(address, "/photos/1")
    assert (api.status_code, page.status_code) == (500, 500)
    assert api.json()["detail"].startswith("the server failed")
    assert 'id="problem"' in page.text
    assert api.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    ["/", "/?q=zzz", "/photos/1", "/photos/4294967295", "/factors", "/static/style.css", "/api/words", "/api/photos/1",
     "/api/photos/1/picture.jpg", "/api/photos/1/mask.png", "/api/search?q=zzz", "/nowhere", "/openapi.json"],
)  # fmt: skip
def test_head_equals_get_without_the_body(address: str, path: str) -> None:
    host, port = address.removeprefix("http://").rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
    for method in ("GET", "HEAD", "GET"):  # the last one shows that no body is left on the connection
        connection.request(method, path)
        response = connection.getresponse()
        headers = {name: value for name, value in response.getheaders() if name != "date"}
        answers[method] = (response.status, headers, response.read())
    connection.close()
    assert answers["HEAD"][:2] == answers["GET"][:2]
    assert answers["HEAD"][2] == b""
    assert answers["GET"][2]


def connect(address: str) -> socket.socket:
    host, port = address.removeprefix("http://").rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=30)


def receive_all(connection: socket.socket) -> bytes:
    content = b""
    while chunk := connection.recv(4096):
        content += chunk
    return content


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "], ids=["none", "half"])
def test_late_headers_close_the_connection(index_copy: Index, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(server, "HEADERS_TIMEOUT", 0.2)
    with serve_in_thread(index_copy) as address, connect(address) as connection:
        connection.sendall(sent)
        assert receive_all(connection).startswith(b"HTTP/1.1 408")


def test_the_header_timeout_applies_to_later_requests_on_a_connection(
    index_copy: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEADERS_TIMEOUT", 0.5)
    with serve_in_thread(index_copy) as address, connect(address) as connection:
        connection.sendall(b"GET /static/icon.svg HTTP/1.1\r\nHost: localhost\r\n\r\n")
        first = b""
        while b"</svg>" not in first:
            first += connection.recv(4096)
        assert first.startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /static/icon.svg HTTP/1.1\r\n")
        assert receive_all(connection).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/api/annotate"), ("POST", "/annotate"), ("PUT", "/api/factors/free-1/name"),
     ("POST", "/factors/free-1/name")],
)  # fmt: skip
def test_a_late_body_is_answered_with_408(
    index_copy: Index, monkeypatch: pytest.MonkeyPatch, method: str, path: str
) -> None:
    monkeypatch.setattr(security, "BODY_TIMEOUT", 0.2)
    with serve_in_thread(index_copy) as address, connect(address) as connection:
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n"
        )
        connection.sendall(head.encode() + b'\r\n{"name"')
        answer = receive_all(connection)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"was not complete after" in answer


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET /api/words HTTP/1.1\r\nHost: localhost", 200),
        ("POST /nowhere HTTP/1.1\r\nHost: localhost", 404),
        ("POST /api/annotate HTTP/1.1\r\nHost: elsewhere", 421),
    ],
)
def test_an_unread_body_does_not_keep_the_connection_open(
    index_copy: Index, monkeypatch: pytest.MonkeyPatch, head: str, status: int
) -> None:
    monkeypatch.setattr(server, "UNREAD_BODY_TIMEOUT", 0.3)
    with serve_in_thread(index_copy) as address, connect(address) as connection:
        connection.sendall(f"{head}\r\nContent-Length: 1000\r\n\r\nx".encode())
        answer = receive_all(connection)  # returns only when the server closes the connection
    assert answer.startswith(f"HTTP/1.1 {status}".encode())
