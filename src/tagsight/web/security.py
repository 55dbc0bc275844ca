"""Middleware that checks requests before they reach the routes, and adds security headers to every response.

Without a token the server answers only requests to a name of this machine: a page of another site could otherwise
reach it under a host name of its own (DNS rebinding). With a token any host name is accepted, because the cookie is
not sent to a foreign name. A request that changes something must come from a page of this server. The body of a
request must arrive in time, and the index must answer in time. HEAD is handled as GET; the server omits the body.
"""

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from hashlib import sha256
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.exceptions import HTTPException

from tagsight.index.limits import answer_within

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
COOKIE = "tagsight"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_BODY = 64 * 1024  # bytes, except for uploads
BODY_TIMEOUT = 30.0  # seconds
ANSWER_TIMEOUT = 60.0  # seconds that a request may use the index
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
DEFAULT_CACHING = "private, no-cache"


class SecurityOptions(NamedTuple):
    """What a request must satisfy."""

    token: str | None  # None: no token is required
    host_names: frozenset[str] | None  # accepted in the Host header; None: any
    max_body: MutableMapping[str, int]  # bytes by path, for the paths that accept more than MAX_BODY


class Rejection(NamedTuple):
    """The response to a request that does not reach the application."""

    status: HTTPStatus
    reason: str
    headers: tuple[tuple[str, str], ...] = ()


class SecurityMiddleware:
    """An ASGI application that checks requests and passes the accepted ones to another application."""

    def __init__(self, app: App, options: SecurityOptions):
        self._app = app
        self._options = options

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Reject a request or pass it on; both responses get the security headers."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                extra = {**HEADERS, "cache-control": DEFAULT_CACHING}
                message["headers"] = [
                    *message["headers"],
                    *((k.encode(), v.encode()) for k, v in extra.items() if k.encode() not in present),
                ]
            await send(message)

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        rejection = (
            check_host(headers, self._options.host_names)
            or check_origin(scope["method"], headers)
            or check_length(scope["path"], headers, self._options.max_body)
            or (check_token(scope, headers, self._options.token) if self._options.token else None)
        )
        if rejection:
            return await send_rejection(rejection, scope, send_with_headers)
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        with answer_within(ANSWER_TIMEOUT):
            return await self._app(scope, limit_body_time(receive, BODY_TIMEOUT), send_with_headers)


def limit_body_time(receive: Receive, seconds: float) -> Receive:
    """Wrap `receive` so that it raises an HTTPException of status 408 if the body is incomplete after `seconds`."""
    end = asyncio.get_running_loop().time() + seconds
    complete = False

    async def receive_in_time() -> Message:
        nonlocal complete
        if complete:
            return await receive()
        try:
            async with asyncio.timeout_at(end):
                message = await receive()
        except TimeoutError as late:
            detail = f"the body of the request was not complete after {seconds:.0f} seconds"
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, detail, {"Connection": "close"}) from late
        complete = not message.get("more_body", False)
        return message

    return receive_in_time


def check_host(headers: dict[str, str], host_names: frozenset[str] | None) -> Rejection | None:
    """Reject a request to a host name that is not in `host_names`."""
    name = strip_port(headers.get("host", "")).lower()
    if host_names is None or name in host_names:
        return None
    reason = f"this server does not accept requests to the host {name!r}; open http://127.0.0.1 instead"
    return Rejection(HTTPStatus.MISDIRECTED_REQUEST, reason)


def check_origin(method: str, headers: dict[str, str]) -> Rejection | None:
    """Reject a request that may change something and comes from a page of another site."""
    if method in SAFE_METHODS:
        return None
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    if site in ("same-origin", "none") and (origin is None or parse_netloc(origin) == headers.get("host")):
        return None
    return Rejection(HTTPStatus.FORBIDDEN, "this request comes from a page of another site")


def check_length(path: str, headers: dict[str, str], max_body: MutableMapping[str, int]) -> Rejection | None:
    """Reject a body without a declared length, or of too great a length. h11 enforces the declared length."""
    if "transfer-encoding" in headers:
        return Rejection(
            HTTPStatus.LENGTH_REQUIRED, "the request has no Content-Length header; send the length of the body in it"
        )
    limit = max_body.get(path, MAX_BODY)
    length = headers.get("content-length", "0")
    if length.isdecimal() and int(length[:20]) <= limit:
        return None
    return Rejection(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"the body of the request is larger than {limit:,} bytes, the limit for this address",
    )


def check_token(scope: Message, headers: dict[str, str], token: str) -> Rejection | None:
    """Reject a request without the token: as a bearer token, as our cookie, or as `?token=`.

    A token in the address is answered with a redirect that sets the cookie and removes the token from the address.
    """
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and is_equal(bearer.strip(), token):
        return None
    cookies = [part.strip().partition("=") for part in headers.get("cookie", "").split(";")]
    if any(name == COOKIE and is_equal(value, make_cookie_value(token)) for name, _, value in cookies):
        return None
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    given = [value for name, value in query if name == "token"]
    if scope["method"] in SAFE_METHODS and given and is_equal(given[0], token):
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        path = "/" + scope.get("raw_path", scope["path"].encode()).decode("latin-1").lstrip("/\\")
        cookie = f"{COOKIE}={make_cookie_value(token)}; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000"
        secure = "; Secure" if scope["scheme"] == "https" else ""
        headers_out = (("location", path + (f"?{rest}" if rest else "")), ("set-cookie", cookie + secure))
        return Rejection(HTTPStatus.SEE_OTHER, "the token is now stored in a cookie", headers_out)
    return Rejection(
        HTTPStatus.UNAUTHORIZED,
        "this server requires a token; open this address with ?token= and the token that the server was started with",
        (("www-authenticate", "Bearer"),),
    )


def is_equal(given: str, expected: str) -> bool:
    """Compare two texts in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())


def make_cookie_value(token: str) -> str:
    """The value of the cookie: an HMAC, so that the cookie does not reveal the token."""
    return hmac.new(token.encode(), b"tagsight cookie", sha256).hexdigest()


def strip_port(host: str) -> str:
    """The host without its port: example:8000 -> example, [::1]:8000 -> [::1]."""
    return host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]


def parse_netloc(origin: str) -> str | None:
    """The host and port of an origin, or None if it has none."""
    try:
        return urlsplit(origin).netloc or None
    except ValueError:
        return None


async def send_rejection(rejection: Rejection, scope: Message, send: Send) -> None:
    """Send the reason of a rejection: as JSON for the API, as plain text otherwise."""
    as_json = scope["path"].startswith("/api/")
    body = json.dumps({"detail": rejection.reason}) if as_json else rejection.reason + "\n"
    content = body.encode()
    kind = "application/json" if as_json else "text/plain; charset=utf-8"
    headers = (("content-type", kind), ("content-length", str(len(content))), *rejection.headers)
    await send(
        {
            "type": "http.response.start",
            "status": int(rejection.status),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
        }
    )
    await send({"type": "http.response.body", "body": content})
