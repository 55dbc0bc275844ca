"""Access control, limits on the body, and the security headers of every response."""

import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tagsight.errors import InputError
from tagsight.index import open_index
from tagsight.web.security import HEADERS, make_cookie_value
from tagsight.web.server import check_token, is_loopback
from tests.web.conftest import WebFiles
from tests.web.serving import serve_in_thread

TOKEN = "correct-horse-battery"


@pytest.fixture(scope="module")
def protected(web_files: WebFiles) -> Iterator[str]:
    with serve_in_thread(open_index(web_files.index_folder), token=TOKEN) as address:
        yield address


def request(address: str, path: str = "/", method: str = "GET", **more: Any) -> httpx.Response:
    return httpx.request(method, address + path, timeout=60, trust_env=False, **more)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("GET", "/?q=zzz"), ("GET", "/photos/1"), ("GET", "/factors"), ("GET", "/annotate"),
     ("GET", "/static/style.css"), ("GET", "/static/nothing"), ("GET", "/api/words"), ("GET", "/openapi.json"),
     ("GET", "/api/photos/1/picture.jpg"), ("GET", "/api/photos/1/mask.png"), ("GET", "/api/photos/1/outline.svg?q=x"),
     ("GET", "/nowhere"), ("GET", "/docs"), ("POST", "/"), ("POST", "/api/annotate"), ("DELETE", "/api/words"),
     ("HEAD", "/")],
)  # fmt: skip
def test_every_response_has_the_security_headers(address: str, protected: str, method: str, path: str) -> None:
    for place in (address, protected):
        answer = request(place, path, method)
        assert answer.status_code < 500
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert answer.headers["cache-control"]
        assert "server" not in answer.headers
    assert HEADERS["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in HEADERS["content-security-policy"]


def test_pages_load_nothing_from_other_sites_and_nothing_inline(client: httpx.Client) -> None:
    for path in ("/", "/photos/1", "/factors", "/annotate"):
        text = client.get(path).text
        assert "http://" not in text.replace("http://www.w3.org", "")
        assert "https://" not in text
        assert " style=" not in text
        assert "<style" not in text
        assert " onclick=" not in text
        assert text.count("<script") == text.count('<script type="module" src="/static/')


@pytest.mark.parametrize("name", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::2]", "0.0.0.0"])
def test_a_foreign_host_name_is_rejected(address: str, name: str) -> None:
    assert request(address, headers={"host": name}).status_code == 421


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST:8000", "127.0.0.1", "[::1]:8000"])
def test_names_of_this_machine_are_accepted(address: str, name: str) -> None:
    assert request(address, "/annotate", headers={"host": name}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [{"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:1"}, {"origin": "http://[x"},
     {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}],
)  # fmt: skip
def test_a_page_of_another_site_cannot_change_anything(address: str, headers: dict[str, str]) -> None:
    for method, path in (("POST", "/factors/free-1/name"), ("PUT", "/api/factors/free-1/name"), ("POST", "/annotate")):
        assert request(address, path, method, headers=headers, content=b"name=x").status_code == 403
    assert request(address, "/annotate", headers=headers).status_code == 200, "reading is allowed"


def test_a_page_of_this_server_may_send_forms(address: str, web_files: WebFiles) -> None:
    own = {"origin": address, "sec-fetch-site": "same-origin"}
    assert request(address, "/factors/free-9/name", "POST", headers=own, content=b"name=x").status_code == 422


def test_requests_without_the_token_are_rejected(protected: str) -> None:
    attempts: list[dict[str, Any]] = [
        {},
        {"headers": {"authorization": f"Bearer {TOKEN}x"}},
        {"headers": {"authorization": f"Basic {TOKEN}"}},
        {"headers": {"cookie": f"tagsight={TOKEN}"}},
        {"headers": {"cookie": "tagsight="}},
        {"params": {"token": TOKEN[:-1]}},
    ]
    for more in attempts:
        for path in ("/", "/api/words", "/static/style.css", "/openapi.json", "/nowhere"):
            answer = request(protected, path, **more)
            assert answer.status_code == 401
            assert TOKEN not in answer.text


def test_a_bearer_token_is_accepted(protected: str) -> None:
    assert request(protected, "/api/words", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    elsewhere = {"authorization": f"bearer {TOKEN}", "host": "photos.example"}
    assert request(protected, "/api/words", headers=elsewhere).status_code == 200


def test_a_token_in_the_address_is_stored_in_a_cookie(protected: str) -> None:
    with httpx.Client(base_url=protected, trust_env=False) as client:
        answer = client.get("/factors", params={"named": "a b", "token": TOKEN})
        assert (answer.status_code, answer.headers["location"]) == (303, "/factors?named=a+b")
        cookie = answer.headers["set-cookie"]
        assert TOKEN not in cookie
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert client.get("/factors").status_code == 200
        assert client.get("/static/style.css").status_code == 200


def test_the_cookie_does_not_let_another_site_change_anything(protected: str) -> None:
    headers = {"cookie": f"tagsight={make_cookie_value(TOKEN)}", "origin": "http://evil.example"}
    assert request(protected, "/factors/free-1/name", "POST", headers=headers, content=b"name=x").status_code == 403


@pytest.mark.parametrize("path", ["//evil.example/a", "/%5Cevil.example", "///evil.example"])
def test_the_token_redirect_stays_on_this_server(protected: str, path: str) -> None:
    location = request(protected, f"{path}?token={TOKEN}").headers["location"]
    assert location.startswith("/")
    assert not location.startswith(("//", "/\\"))


def test_long_bodies_are_rejected_unread(address: str) -> None:
    assert request(address, "/factors/free-1/name", "POST", content=b"n" * 70_000).status_code == 413
    assert request(address, "/api/factors/free-1/name", "PUT", content=b"n" * 70_000).status_code == 413
    chunks = iter([b"name=", b"x"])
    assert request(address, "/factors/free-1/name", "POST", content=chunks).status_code == 411
    with socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), timeout=30) as raw:
        raw.sendall(b"POST /api/annotate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 34603008\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


def test_the_documentation_pages_of_fastapi_are_disabled(address: str) -> None:
    assert [request(address, path).status_code for path in ("/docs", "/redoc", "/docs/oauth2-redirect")] == [404] * 3


def test_path_traversal_is_rejected(address: str) -> None:
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/api/photos/%2e%2e/picture.jpg",
                 "/api/photos/..%2f..%2fetc/passwd", "/photos/%00"):  # fmt: skip
        assert request(address, path).status_code in (404, 422)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "photos.example", ""])
def test_other_hosts_need_a_token(host: str) -> None:
    with pytest.raises(InputError, match="a token is required"):
        check_token(host, None)
    check_token(host, TOKEN)


@pytest.mark.parametrize("token", ["", "short", "has a space in it", "t\u00f6kentokentoken"])
def test_a_weak_token_is_rejected(token: str) -> None:
    for host in ("127.0.0.1", "0.0.0.0"):
        with pytest.raises(InputError, match="12 or more"):
            check_token(host, token)


def test_loopback_addresses_are_recognised() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "localhost.example", "")))
