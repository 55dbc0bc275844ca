"""What stands between the network and the pages: who may ask, how much may be sent, what every answer carries.

Without a token the server answers to the names of this machine only, so that a foreign page cannot reach it under a
name of its own (DNS rebinding). With one, any name will do: a foreign name has no cookie. What changes something must
come from the page itself. A body must arrive in time, and the index must answer in time. HEAD is answered as GET; the
server leaves out the body.
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

from tagsight.index.deadline import answer_within

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
COOKIE = "tagsight"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LARGEST_BODY = 64 * 1024  # bytes, where nothing else is said
SLOWEST_BODY = 30.0  # seconds until all of it is here
SLOWEST_ANSWER = 60.0  # seconds that a request may wait for the index
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


class Rules(NamedTuple):
    """What is asked of a request."""

    token: str | None
    names: frozenset[str] | None  # the server may be called by; None for any
    largest_body: MutableMapping[str, int]  # bytes, by path


class Refusal(NamedTuple):
    """A request that goes no further."""

    status: HTTPStatus
    reason: str
    headers: tuple[tuple[str, str], ...] = ()


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: App, rules: Rules):
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Refuse, or pass on; headers are put on either answer."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                extra = {**HEADERS, "cache-control": DEFAULT_CACHING}
                message["headers"] = [
                    *message["headers"],
                    *((k.encode(), v.encode()) for k, v in extra.items() if k.encode() not in present),
                ]
            await send(message)

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = (
            check_name(headers, self._rules.names)
            or check_origin(scope["method"], headers)
            or check_length(scope["path"], headers, self._rules.largest_body)
            or (check_token(scope, headers, self._rules.token) if self._rules.token else None)
        )
        if refusal:
            return await answer(refusal, scope, send_guarded)
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        with answer_within(SLOWEST_ANSWER):
            return await self._app(scope, limit_body_time(receive, SLOWEST_BODY), send_guarded)


def limit_body_time(receive: Receive, seconds: float) -> Receive:
    """A `receive` that raises an HTTPException of status 408 if the body is not complete after `seconds`."""
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


def check_name(headers: dict[str, str], names: frozenset[str] | None) -> Refusal | None:
    """The name that the client called the server by."""
    name = strip_port(headers.get("host", "")).lower()
    if names is None or name in names:
        return None
    return Refusal(HTTPStatus.MISDIRECTED_REQUEST, f"this server is not called {name!r}; use http://127.0.0.1")


def check_origin(method: str, headers: dict[str, str]) -> Refusal | None:
    """Whatever changes something comes from a page of this server, or from no page at all."""
    if method in SAFE_METHODS:
        return None
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    if site in ("same-origin", "none") and (origin is None or urlsplit_netloc(origin) == headers.get("host")):
        return None
    return Refusal(HTTPStatus.FORBIDDEN, "this request comes from a page of another site")


def check_length(path: str, headers: dict[str, str], largest: MutableMapping[str, int]) -> Refusal | None:
    """A body says how long it is, and is not too long; the protocol holds the client to its word."""
    if "transfer-encoding" in headers:
        return Refusal(HTTPStatus.LENGTH_REQUIRED, "send the length of the body beforehand")
    limit = largest.get(path, LARGEST_BODY)
    length = headers.get("content-length", "0")
    if length.isdecimal() and int(length[:20]) <= limit:
        return None
    return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {limit:,} bytes may be sent here")


def check_token(scope: Message, headers: dict[str, str], token: str) -> Refusal | None:
    """The token as a bearer, as the cookie that stands for it, or in the address, which is then exchanged for one."""
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and same(bearer.strip(), token):
        return None
    cookies = [part.strip().partition("=") for part in headers.get("cookie", "").split(";")]
    if any(name == COOKIE and same(value, stand_in(token)) for name, _, value in cookies):
        return None
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    given = [value for name, value in query if name == "token"]
    if scope["method"] in SAFE_METHODS and given and same(given[0], token):
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        path = "/" + scope.get("raw_path", scope["path"].encode()).decode("latin-1").lstrip("/\\")
        cookie = f"{COOKIE}={stand_in(token)}; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000"
        secure = "; Secure" if scope["scheme"] == "https" else ""
        headers_out = (("location", path + (f"?{rest}" if rest else "")), ("set-cookie", cookie + secure))
        return Refusal(HTTPStatus.SEE_OTHER, "the token is now in a cookie", headers_out)
    return Refusal(
        HTTPStatus.UNAUTHORIZED,
        "open this address with ?token=, followed by the token the server was started with",
        (("www-authenticate", "Bearer"),),
    )


def same(given: str, wanted: str) -> bool:
    """Compare in a time that does not tell how much was right."""
    return hmac.compare_digest(given.encode(), wanted.encode())


def stand_in(token: str) -> str:
    """What the cookie holds in the token's place."""
    return hmac.new(token.encode(), b"tagsight cookie", sha256).hexdigest()


def strip_port(host: str) -> str:
    """example:8000 -> example; [::1]:8000 -> [::1]."""
    return host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]


def urlsplit_netloc(origin: str) -> str | None:
    """The host and port of an origin; None if it has none."""
    try:
        return urlsplit(origin).netloc or None
    except ValueError:
        return None


async def answer(refusal: Refusal, scope: Message, send: Send) -> None:
    """One sentence, as JSON to programs."""
    as_json = scope["path"].startswith("/api/")
    body = json.dumps({"detail": refusal.reason}) if as_json else refusal.reason + "\n"
    content = body.encode()
    kind = "application/json" if as_json else "text/plain; charset=utf-8"
    headers = (("content-type", kind), ("content-length", str(len(content))), *refusal.headers)
    await send(
        {
            "type": "http.response.start",
            "status": int(refusal.status),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
        }
    )
    await send({"type": "http.response.body", "body": content})
