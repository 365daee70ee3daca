"""What every request passes before a route sees it: who calls from where, how often, and what leaves with the answer.

Plain ASGI, so that streams stay streams. Loopback is reachable from every page in the user's browser: the Host
must be one of ours, and what changes something must not come from another site's page.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any

import orjson
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.exceptions import HTTPException

from proctor.api.control_characters import check_body, check_head
from proctor.api.openai_errors import shaped
from proctor.errors import ConfigError, Forbidden, ProctorError, TooLarge, TooManyRequests
from proctor.service.admin.access import LOCAL, User, user_of
from proctor.service.admin.sessions import COOKIE, user_of_session
from proctor.service.context import Context
from proctor.settings import MB

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
MOST_DROPPED_BYTES = 2**28  # of a refused upload, read so that the refusal is heard
DROPPING_S = 5.0
MOST_BODY_BYTES = 10_000_000
TOO_LARGE = f"The body is larger than {MOST_BODY_BYTES:,} bytes"
UNCOUNTED = re.compile(r".*/stream$")
# Whose callers are programs: they send keys and no cookies, are counted, and read errors as JSON.
PROGRAMS = ("/api/", "/admin/", "/v1/", "/metrics")
COUNTED = ("/api/", "/admin/", "/v1/")
SHARED = "/shared/"  # open to whoever has the address: counted by where they call from
# What may be larger than MOST_BODY_BYTES, and the setting that bounds it.
UPLOADS = (
    (re.compile(r"/api/v1/datasets"), "most_upload_bytes"),
    (re.compile(r"/datasets|/admin/datasets/upload|/suites/[a-z]{1,40}/import"), "most_batch_bytes"),
    (re.compile(r"/v1/files"), "batch_file_bytes"),
)
FORM_BYTES = 100_000  # of a form around its files
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; "
    "object-src 'none'; img-src 'self' data:",
    "X-Content-Type-Options": "nosniff",
    # With "no-referrer" browsers would send `Origin: null` with the forms of our own pages.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
# Swagger UI draws icons from data and sets styles of its own.
DOCS_POLICY = HEADERS["Content-Security-Policy"] + "; style-src 'self' 'unsafe-inline'"


@dataclass(slots=True)
class Guard:
    """The middleware. `context_of` gives the open context; `hosts` are further names under which we may be called."""

    app: Application
    context_of: Callable[[], Context]
    hosts: Sequence[str] = ()
    auth: bool = False
    per_minute: int = 100
    limiter: MovingWindowRateLimiter = field(default_factory=lambda: MovingWindowRateLimiter(MemoryStorage()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        given = headers.get("x-request-id", "")
        ident = given if REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = ident
        sending = _with_headers(send, ident, scope)
        try:
            check_head(scope)
            self._check_origin(scope, headers)
            scope["state"]["user"] = self._user(scope, headers)
            self._count(scope)
            received = self._received(scope, receive, headers)
        except ProctorError as error:
            if isinstance(error, TooLarge):
                await _dropped(receive)
            await refuse(sending, error, ident, scope["path"])
            return
        await self.app(scope, received, sending)

    def _received(self, scope: Scope, receive: Receive, headers: Mapping[str, str]) -> Receive:
        """Raises ConfigError, TooLarge for a length that says so."""
        sent = headers.get("content-type", "").strip().lower()
        if scope["method"] == "POST" and sent.startswith("multipart/"):
            for path, setting in UPLOADS:
                if path.fullmatch(scope["path"]):
                    return _streamed(receive, headers, getattr(self.context_of().settings, setting))
        return _bounded(receive, headers)

    def _check_origin(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Raises ConfigError for a Host that is not ours, Forbidden for a page of another site."""
        host = headers.get("host", "")
        if not self._is_ours(host, scope):
            raise ConfigError(
                f"This server does not answer to the name {host[:100]!r}; PROCTOR_HOSTS lists further names"
            )
        if scope["method"] in SAFE:
            return
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if site in ("cross-site", "same-site") or (origin is not None and origin.partition("://")[2] != host):
            raise Forbidden(
                "A page of another site may not change anything here: the request came from "
                f"{(origin or site or '')[:100]!r}, and the server was called {host[:100]!r}. "
                "A reverse proxy must hand on the Host that the browser sent"
            )

    def _is_ours(self, host: str, scope: Scope) -> bool:
        name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
        # The address that this very connection reached: a page can have a name of its own lead here, not a number.
        # A server on :: is reached over IPv4 at ::ffff:10.0.0.5, which browsers call 10.0.0.5.
        reached = (scope.get("server") or ("",))[0].removeprefix("::ffff:")
        return bool(name) and name.lower().strip("[]") in (*LOOPBACK, *self.hosts, reached)

    def _user(self, scope: Scope, headers: Mapping[str, str]) -> User | None:
        """On loopback without keys everybody is `local`, whatever key is sent.

        Pages know a browser by its session, the API knows no sessions: a cookie that travels by itself
        can change nothing there. None is a browser that has yet to log in.
        """
        if not self.auth:
            return LOCAL
        if not scope["path"].startswith(PROGRAMS):
            token = _cookie(headers.get("cookie", ""))
            return user_of_session(self.context_of(), token) if token else None
        bearer = headers.get("authorization", "")
        sent = bearer[7:].strip() if bearer.lower().startswith("bearer ") else headers.get("x-api-key")
        return user_of(self.context_of(), sent)

    def _count(self, scope: Scope) -> None:
        """Raises TooManyRequests; pages but shared ones, streams, health and metrics are not counted."""
        shared = scope["path"].startswith(SHARED)
        if not (shared or scope["path"].startswith(COUNTED)) or UNCOUNTED.match(scope["path"]):
            return
        caller = (scope.get("client") or ("?",))[0]
        who = scope["state"]["user"].name if self.auth and not shared else caller
        rate = RateLimitItemPerMinute(self.per_minute)
        if not self.limiter.hit(rate, who):
            window = self.limiter.get_window_stats(rate, who)
            wait_s = max(1, round(window.reset_time - time.time()))
            raise TooManyRequests(f"More than {self.per_minute} requests in a minute", retry_after_s=wait_s)


def _cookie(sent: str) -> str | None:
    try:
        found = SimpleCookie(sent).get(COOKIE)
    except CookieError:
        return None
    return found.value if found else None


def _bounded(receive: Receive, headers: Mapping[str, str]) -> Receive:
    """The body, as long as it is not larger than anybody means and holds text alone.

    Raises ConfigError for a length that says so.
    """
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MOST_BODY_BYTES:
        raise ConfigError(TOO_LARGE)
    body = bytearray()

    async def received() -> MutableMapping[str, Any]:
        message = await receive()
        body.extend(message.get("body", b""))
        # HTTPException is the one kind that FastAPI's reading of bodies lets through.
        if len(body) > MOST_BODY_BYTES:
            raise HTTPException(400, TOO_LARGE)
        if message["type"] == "http.request" and not message.get("more_body") and body:
            try:
                check_body(headers.get("content-type", "").strip().lower(), bytes(body))
            except ConfigError as error:
                raise HTTPException(400, str(error)) from None
        return message

    return received


def _streamed(receive: Receive, headers: Mapping[str, str], most: int) -> Receive:
    """The body of an upload, piece by piece, and no more of it than may come; what is in it is its readers' to judge.

    Raises TooLarge for a length that says so.
    """
    told = f"The upload is larger than {most // MB:,} MB, which is what this server takes"
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) > most + FORM_BYTES:
        raise TooLarge(told)
    came = 0

    async def received() -> MutableMapping[str, Any]:
        nonlocal came
        message = await receive()
        came += len(message.get("body", b""))
        if came > most + FORM_BYTES:
            raise HTTPException(413, told)
        return message

    return received


async def _dropped(receive: Receive) -> None:
    """Let a client finish writing, within bounds: one that is cut off in mid-upload never reads why."""
    came = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(DROPPING_S):
            while came < MOST_DROPPED_BYTES:
                message = await receive()
                came += len(message.get("body", b""))
                if not message.get("more_body"):
                    return


def _with_headers(send: Send, ident: str, scope: Scope) -> Send:
    extra = {**HEADERS, "X-Request-ID": ident}
    if scope["path"].startswith("/docs"):
        extra["Content-Security-Policy"] = DOCS_POLICY
    if scope["path"].startswith(SHARED):
        extra["Referrer-Policy"] = "no-referrer"  # the address is the secret, also of a link that has ended
        extra["X-Robots-Tag"] = "noindex"

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            # A route may say what holds for its own answer.
            told = {**extra, **scope["state"].get("headers", {})}
            raw = [(name.lower().encode(), value.encode()) for name, value in told.items()]
            message = {**message, "headers": [*message.get("headers", []), *raw]}
        await send(message)

    return sending


async def refuse(send: Send, error: ProctorError, ident: str, path: str) -> None:
    """An error before any route was reached, in the shape of the path's errors."""
    body: dict[str, Any] = {"detail": str(error), "error": error.slug, "request_id": ident}
    headers = [(b"content-type", b"application/json")]
    wait_s = getattr(error, "retry_after_s", None)
    if wait_s is not None:
        body["retry_after"] = wait_s
        headers.append((b"retry-after", str(wait_s).encode()))
    if error.http_status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": error.http_status, "headers": headers})
    told = shaped(path, error.http_status, body, error)
    await send({"type": "http.response.body", "body": orjson.dumps(told)})
